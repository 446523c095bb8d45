package devcluster

import (
	"github.com/listfacade/listfacade/devcluster/internal/pki"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// Info is everything that a user of the cluster has to know. Its JSON form is what "devcluster up --json" prints.
type Info struct {
	Dir         string                    `json:"dir"`
	Server      string                    `json:"server"`  // https://127.0.0.1:port
	Servers     map[string]string         `json:"servers"` // the same of each kube-apiserver, by the name of its process
	CAFile      string                    `json:"caFile"`
	Serving     pki.Pair                  `json:"serving"`     // of caFile, for localhost: a second server may use it
	Authorities map[string]pki.Pair       `json:"authorities"` // by name: ca signs users, front-proxy-ca front proxies
	Kubeconfigs map[string]string         `json:"kubeconfigs"` // path by user
	Binaries    map[string]string         `json:"binaries"`    // path by program
	Processes   map[string]process.Status `json:"processes"`
	Control     string                    `json:"control"` // path of the control socket
	Etcd        EtcdInfo                  `json:"etcd"`
}

// EtcdInfo says how to talk to etcd itself.
type EtcdInfo struct {
	URL    string `json:"url"`
	CAFile string `json:"caFile"`
	pki.Pair
}

// Info describes the cluster as it is now.
func (c *Cluster) Info() Info {
	programs := make(map[string]string, len(c.programs))
	for program, path := range c.programs {
		programs[string(program)] = path
	}
	return Info{
		Dir:         c.dir,
		Server:      c.servers[apiServerName],
		Servers:     c.servers,
		CAFile:      c.certificates.ca.CertFile(),
		Serving:     c.certificates.Serving,
		Authorities: c.authorities,
		Kubeconfigs: c.kubeconfigs,
		Binaries:    programs,
		Processes:   c.Processes(),
		Control:     c.control.path,
		Etcd: EtcdInfo{
			URL:    c.etcd.url,
			CAFile: c.certificates.etcdCA.CertFile(),
			Pair:   c.certificates.EtcdClient,
		},
	}
}

// Processes tells what every server is doing, by name.
func (c *Cluster) Processes() map[string]process.Status {
	statuses := make(map[string]process.Status, len(c.processes))
	for name, p := range c.processes {
		statuses[name] = p.Status()
	}
	return statuses
}
