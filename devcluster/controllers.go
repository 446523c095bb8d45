package devcluster

import (
	"context"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
	"github.com/listfacade/listfacade/devcluster/internal/pki"
	"github.com/listfacade/listfacade/devcluster/internal/ports"
	"github.com/listfacade/listfacade/devcluster/internal/probe"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

const controllerStart = 2 * time.Minute

func (c *Cluster) addControllers(port func() (*ports.Reservation, error)) error {
	further := map[Component][]string{
		ControllerManager: {
			"--use-service-account-credentials=true",
			"--service-account-private-key-file=" + c.certificates.ServiceAccount.PrivateFile,
			"--root-ca-file=" + c.certificates.ca.CertFile(),
		},
		Scheduler: nil,
	}
	for _, component := range []Component{ControllerManager, Scheduler} {
		if !c.options.Has(component) {
			continue
		}
		p, err := port()
		if err != nil {
			return err
		}
		if err := c.addController(string(component), p, further[component]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) addController(name string, port *ports.Reservation, further []string) error {
	client, err := probe.NewClient(c.certificates.ca.CertFile(), pki.Pair{})
	if err != nil {
		return err
	}
	kubeconfig := c.kubeconfigs[name]
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port.Port),
		"--tls-cert-file=" + c.certificates.Serving.CertFile,
		"--tls-private-key-file=" + c.certificates.Serving.KeyFile,
		"--leader-elect=false", // there is no second instance, and a paused cluster must not lose its lease
	}
	c.add(binaries.Program(name), process.Spec{
		Name:        name,
		Args:        append(args, further...),
		Ready:       func(ctx context.Context) error { return client.Get(ctx, "https://"+port.Address()+"/healthz") },
		ReadyWithin: controllerStart,
	})
	return nil
}
