package devcluster

import (
	"github.com/listfacade/listfacade/devcluster/internal/pki"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// Info describes a cluster for its users. "devcluster up --json" prints it as JSON.
type Info struct {
	Dir         string                    `json:"dir"`
	Server      string                    `json:"server"`  // https://127.0.0.1:port
	Servers     map[string]string         `json:"servers"` // URL of each kube-apiserver, by the name of its process
	CAFile      string                    `json:"caFile"`
	Serving     pki.Pair                  `json:"serving"`     // signed by caFile, for localhost
	Authorities map[string]pki.Pair       `json:"authorities"` // by name: ca for users, front-proxy-ca for front proxies
	Kubeconfigs map[string]string         `json:"kubeconfigs"` // path by user
	Binaries    map[string]string         `json:"binaries"`    // path by program
	Processes   map[string]process.Status `json:"processes"`
	Control     string                    `json:"control"`
	Etcd        EtcdInfo                  `json:"etcd"`
}

// EtcdInfo is the address and credentials of etcd.
type EtcdInfo struct {
	URL    string `json:"url"`
	CAFile string `json:"caFile"`
	pki.Pair
}

// Info describes the cluster in its current state.
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

// Processes returns the state of every server, by name.
func (c *Cluster) Processes() map[string]process.Status {
	statuses := make(map[string]process.Status, len(c.processes))
	for name, p := range c.processes {
		statuses[name] = p.Status()
	}
	return statuses
}
