package devcluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
	"github.com/listfacade/listfacade/devcluster/internal/ports"
	"github.com/listfacade/listfacade/devcluster/internal/probe"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// frontProxyName is the only client certificate name from which kube-apiserver accepts identity headers.
const frontProxyName = "front-proxy-client"

// apiServerStart is the timeout for the start of kube-apiserver. A start takes 3 seconds on an idle machine, and a
// minute while a compiler runs.
const apiServerStart = 2 * time.Minute

// addAPIServers adds the requested number of kube-apiservers, which differ only in their ports. Kubeconfigs contain the
// URL of the first server.
func (c *Cluster) addAPIServers() error {
	c.servers = make(map[string]string)
	for i := range max(c.options.APIServers, 1) {
		name := apiServerName
		if i > 0 {
			name = fmt.Sprintf("%s-%d", apiServerName, i+1)
		}
		port, err := c.reserve()
		if err != nil {
			return err
		}
		c.servers[name] = "https://" + port.Address()
		if err := c.addAPIServer(name, port); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) addAPIServer(name string, port *ports.Reservation) error {
	client, err := probe.NewClient(c.certificates.ca.CertFile(), c.certificates.Users[Admin])
	if err != nil {
		return err
	}
	args := c.apiServerArgs(port)
	if !c.options.Has(ControllerManager) {
		// Without kube-controller-manager there are no default service accounts, and this plugin would reject every pod.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	c.add(binaries.APIServer, process.Spec{
		Name:        name,
		Args:        replaceFlags(args, c.options.APIServer),
		Ready:       func(ctx context.Context) error { return apiServerReady(ctx, client, c.servers[name]) },
		ReadyWithin: apiServerStart,
	})
	return nil
}

// apiServerReady succeeds when /readyz succeeds and the server has created its initial namespaces. /readyz does not
// wait for these namespaces.
func apiServerReady(ctx context.Context, client *probe.Client, server string) error {
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"} {
		if err := client.Get(ctx, server+path); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) apiServerArgs(port *ports.Reservation) []string {
	pki := c.certificates
	args := []string{
		"--etcd-servers=" + c.etcd.url,
		"--etcd-cafile=" + pki.etcdCA.CertFile(),
		"--etcd-certfile=" + pki.EtcdClient.CertFile,
		"--etcd-keyfile=" + pki.EtcdClient.KeyFile,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port.Port),
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // an endpoint must not have a loopback address
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
		// An old resourceVersion stays readable until etcd is compacted. Responses in tests must not depend on how long a
		// suite takes.
		"--etcd-compaction-interval=2h",
	}
	if c.separate != nil {
		args = append(args, "--etcd-servers-overrides="+overrides(c.options.SeparateEtcd, c.separate.url))
	}
	return args
}

// replaceFlags appends the given flags to the defaults. A given flag replaces a default of the same name, because a
// repeated list flag such as --authorization-mode would be merged with the default.
func replaceFlags(defaults, given []string) []string {
	name := func(flag string) string { return strings.SplitN(flag, "=", 2)[0] }
	replaced := make(map[string]bool)
	for _, flag := range given {
		replaced[name(flag)] = true
		if name(flag) == "--authorization-config" {
			replaced["--authorization-mode"] = true // kube-apiserver rejects the combination of both
		}
	}
	defaults = slices.DeleteFunc(defaults, func(flag string) bool { return replaced[name(flag)] })
	return append(defaults, given...)
}

// overrides returns the value of --etcd-servers-overrides that moves resources to another etcd. Examples of
// resources are "events" and "coordination.k8s.io/leases".
func overrides(resources []string, url string) string {
	all := make([]string, len(resources))
	for i, resource := range resources {
		if !strings.Contains(resource, "/") {
			resource = "/" + resource // the core group has an empty name
		}
		all[i] = resource + "#" + url
	}
	return strings.Join(all, ",")
}
