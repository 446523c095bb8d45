package devcluster

import (
	"context"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/ports"
	"github.com/listfacade/listfacade/devcluster/internal/probe"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// frontProxyName is the one name that kube-apiserver believes when it says who somebody else is.
const frontProxyName = "front-proxy-client"

// apiServerStart bounds the start of kube-apiserver: 3 seconds alone, a minute when a compiler has the machine.
const apiServerStart = 2 * time.Minute

func (c *Cluster) addAPIServer(port *ports.Reservation) error {
	c.server = "https://" + port.Address()
	client, err := probe.NewClient(c.certificates.ca.CertFile(), c.certificates.Users[Admin])
	if err != nil {
		return err
	}
	args := c.apiServerArgs(port)
	if !c.options.Has(ControllerManager) {
		// Nobody makes the default service accounts, without which this plugin refuses every pod.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	c.add(process.Spec{
		Name:        apiServerName,
		Args:        append(args, c.options.APIServer...),
		Ready:       func(ctx context.Context) error { return c.apiServerReady(ctx, client) },
		ReadyWithin: apiServerStart,
	})
	return nil
}

// apiServerReady is satisfied when the server says so and has made the namespaces that it makes by itself, which
// /readyz does not wait for.
func (c *Cluster) apiServerReady(ctx context.Context, client *probe.Client) error {
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"} {
		if err := client.Get(ctx, c.server+path); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) apiServerArgs(port *ports.Reservation) []string {
	pki := c.certificates
	return []string{
		"--etcd-servers=" + c.etcd.url,
		"--etcd-cafile=" + pki.etcdCA.CertFile(),
		"--etcd-certfile=" + pki.EtcdClient.CertFile,
		"--etcd-keyfile=" + pki.EtcdClient.KeyFile,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port.Port),
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // an endpoint may not have a loopback address
		"--tls-cert-file=" + pki.Serving.CertFile,
		"--tls-private-key-file=" + pki.Serving.KeyFile,
		"--client-ca-file=" + pki.ca.CertFile(),
		"--requestheader-client-ca-file=" + pki.frontProxyCA.CertFile(),
		"--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki.FrontProxy.CertFile,
		"--proxy-client-key-file=" + pki.FrontProxy.KeyFile,
		"--authorization-mode=Node,RBAC",
		"--anonymous-auth=true",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki.ServiceAccount.PublicFile,
		"--service-account-signing-key-file=" + pki.ServiceAccount.PrivateFile,
		"--profiling=true",
	}
}
