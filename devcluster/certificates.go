package devcluster

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"github.com/listfacade/listfacade/devcluster/internal/pki"
)

// Certificates are the files of one cluster's servers and users. They are signed by three authorities: for the cluster,
// for etcd, and for front proxies. A client of etcd may do everything, so users must not have a certificate of etcd's
// authority.
type Certificates struct {
	dir          string
	ca           *pki.Authority
	etcdCA       *pki.Authority
	frontProxyCA *pki.Authority

	Serving        pki.Pair // for every HTTPS server that users connect to
	EtcdServer     pki.Pair
	EtcdClient     pki.Pair
	FrontProxy     pki.Pair
	ServiceAccount pki.KeyPair
	Users          map[string]pki.Pair // by the name of the User
}

// MakeCertificates writes a new set of certificates to dir, which it creates if necessary. hosts are names and
// addresses of the servers; localhost and the loopback addresses are always included.
func MakeCertificates(dir string, hosts []string) (*Certificates, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create certificate directory: %w", err)
	}
	c := &Certificates{dir: dir, Users: make(map[string]pki.Pair)}
	steps := []func() error{
		c.makeAuthorities,
		func() error { return c.makeServerPairs(append([]string{"localhost", "127.0.0.1", "::1"}, hosts...)) },
		c.makeClientPairs,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// KeepAuthorities writes the keys of the authorities that sign users' and front proxies' certificates, so that a test
// can create further users. It returns the pairs by name: "ca" signs certificates of users, "front-proxy-ca" signs
// certificates of front proxies.
func (c *Certificates) KeepAuthorities() (map[string]pki.Pair, error) {
	pairs := make(map[string]pki.Pair)
	for name, authority := range map[string]*pki.Authority{"ca": c.ca, "front-proxy-ca": c.frontProxyCA} {
		pair, err := authority.WriteKey()
		if err != nil {
			return nil, err
		}
		pairs[name] = pair
	}
	return pairs, nil
}

// WriteKubeconfigs writes one kubeconfig for every user to dir, all for the same server. It returns their paths by the
// name of the user.
func (c *Certificates) WriteKubeconfigs(dir, server string) (map[string]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create kubeconfig directory: %w", err)
	}
	paths := KubeconfigPaths(dir)
	for name, pair := range c.Users {
		kubeconfig := pki.Kubeconfig{Server: server, CAFile: c.ca.CertFile(), User: name, Pair: pair}
		if err := kubeconfig.Write(paths[name]); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func (c *Certificates) makeAuthorities() (err error) {
	if c.ca, err = pki.NewAuthority(c.dir, "ca"); err != nil {
		return err
	}
	if c.etcdCA, err = pki.NewAuthority(c.dir, "etcd-ca"); err != nil {
		return err
	}
	c.frontProxyCA, err = pki.NewAuthority(c.dir, "front-proxy-ca")
	return err
}

func (c *Certificates) makeServerPairs(hosts []string) (err error) {
	serving := pki.Subject{CommonName: "devcluster", Hosts: hosts, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if c.Serving, err = c.ca.Issue(c.dir, "serving", serving); err != nil {
		return err
	}
	// etcd's HTTP gateway connects to etcd as a client with the server's certificate.
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	etcd := pki.Subject{CommonName: "etcd", Hosts: hosts, Usages: usages}
	if c.EtcdServer, err = c.etcdCA.Issue(c.dir, "etcd-server", etcd); err != nil {
		return err
	}
	c.ServiceAccount, err = pki.NewKeyPair(c.dir, "service-account")
	return err
}

func (c *Certificates) makeClientPairs() (err error) {
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	etcd := pki.Subject{CommonName: "kube-apiserver-etcd-client", Usages: client}
	if c.EtcdClient, err = c.etcdCA.Issue(c.dir, "etcd-client", etcd); err != nil {
		return err
	}
	frontProxy := pki.Subject{CommonName: frontProxyName, Usages: client}
	if c.FrontProxy, err = c.frontProxyCA.Issue(c.dir, "front-proxy-client", frontProxy); err != nil {
		return err
	}
	for _, u := range Users() {
		subject := pki.Subject{CommonName: u.UserName, Organizations: u.Groups, Usages: client}
		if c.Users[u.Name], err = c.ca.Issue(c.dir, "user-"+u.Name, subject); err != nil {
			return err
		}
	}
	return nil
}

// KubeconfigPaths returns the paths of the kubeconfigs in dir, by the name of the user.
func KubeconfigPaths(dir string) map[string]string {
	paths := make(map[string]string)
	for _, u := range Users() {
		paths[u.Name] = filepath.Join(dir, u.Name+".kubeconfig")
	}
	return paths
}
