package devcluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
	"github.com/listfacade/listfacade/devcluster/internal/manifest"
	"github.com/listfacade/listfacade/devcluster/internal/ports"
	"github.com/listfacade/listfacade/devcluster/internal/process"
	"github.com/listfacade/listfacade/devcluster/manifests"
)

// leaseSeconds is the duration of a node's lease. A kubelet uses the same duration.
const leaseSeconds = "40"

// addKwok adds the node simulator. Its HTTP server is used only for the readiness check.
func (c *Cluster) addKwok(port *ports.Reservation) error {
	stages, err := manifests.Files.ReadFile(manifests.Stages)
	if err != nil {
		return fmt.Errorf("read kwok's configuration: %w", err)
	}
	config := c.path("kwok-stages.yaml")
	if err := os.WriteFile(config, stages, 0o600); err != nil {
		return fmt.Errorf("write kwok's configuration: %w", err)
	}
	c.add(binaries.Kwok, process.Spec{
		Name: string(Kwok),
		Args: []string{
			"--kubeconfig=" + c.kubeconfigs[string(Kwok)],
			"--config=" + config,
			"--manage-all-nodes=true",
			"--node-lease-duration-seconds=" + leaseSeconds,
			"--server-address=" + port.Address(),
		},
		Ready:       func(ctx context.Context) error { return healthz(ctx, port.Address()) },
		ReadyWithin: controllerStart,
	})
	return nil
}

// healthz sends a GET of /healthz without TLS. It succeeds with any response.
func healthz(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("create request: %w", err)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (c *Cluster) addNodes(ctx context.Context) error {
	const node = `---
apiVersion: v1
kind: Node
metadata:
  name: node-%[1]d
  annotations: {kwok.x-k8s.io/node: fake, devcluster/internal-ip: 192.168.%[2]d.%[3]d}
  labels:
    kubernetes.io/arch: amd64
    kubernetes.io/hostname: node-%[1]d
    kubernetes.io/os: linux
    topology.kubernetes.io/zone: zone-%[4]d
spec:
  podCIDR: 10.%[5]d.%[3]d.0/24
  podCIDRs: [10.%[5]d.%[3]d.0/24]
`
	const zones = 3
	var all strings.Builder
	for i := range c.options.Nodes {
		fmt.Fprintf(&all, node, i, i/256, i%256, i%zones, 100+i/256)
	}
	applier, err := manifest.NewApplier(c.kubeconfigs[Admin])
	if err != nil {
		return err
	}
	return applier.YAML(ctx, []byte(all.String()))
}
