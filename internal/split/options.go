package split

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/listfacade/listfacade/internal/facade"
)

// Options are the flags of the command.
type Options struct {
	// KubeAPIServer is the URL of kube-apiserver, and Facades are the URLs of the facades.
	KubeAPIServer string
	Facades       []string
	// Files with the CA certificates that verify the servers; if empty, the system's certificates are used.
	KubeAPIServerCAFile, FacadeCAFile string
	// RulesFile is the file with Rules; empty for DefaultRules.
	RulesFile string
	// FallbackReads and FallbackWatches are the maximum numbers of concurrent reads and open watches at kube-apiserver
	// while no facade is ready. 0 means none.
	FallbackReads, FallbackWatches int
	// AuthorityDir is the directory with the authority that signs the serving certificate. If empty, the certificate is
	// read from files, or is self-signed.
	AuthorityDir string
	// MetricsAddress is host:port of the metrics; empty for none.
	MetricsAddress string
	// Serving contains the address, the certificate, the periods of the shutdown, and the log. Its other settings have
	// no effect.
	Serving facade.Config
}

// DefaultOptions returns the default values of the flags.
func DefaultOptions() Options {
	return Options{
		FallbackReads: 32, FallbackWatches: 1000, MetricsAddress: "127.0.0.1:8081", Serving: facade.Defaults(),
	}
}

func (o Options) validate() error {
	switch {
	case o.KubeAPIServer == "":
		return errors.New("--kube-apiserver is required: URL of kube-apiserver, for example https://10.0.0.1:6443")
	case len(o.Facades) == 0:
		return errors.New("--facade is required: URL of a facade, for example https://listfacade.listfacade-system.svc")
	case o.FallbackReads < 0 || o.FallbackWatches < 0:
		return errors.New("--fallback-requests and --fallback-watches must not be below 0")
	}
	if o.AuthorityDir != "" && o.Serving.CertFile != "" {
		return errors.New("--tls-authority-dir and --tls-cert-file exclude each other")
	}
	for _, address := range o.Facades {
		if u, err := url.Parse(address); err == nil && u.Path != "" && u.Path != "/" {
			return fmt.Errorf("--facade %q must not have a path", address)
		}
	}
	return o.Serving.Validate()
}
