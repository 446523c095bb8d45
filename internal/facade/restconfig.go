package facade

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// RESTConfig returns the client configuration for the upstream. If Config.Upstream has several addresses, it uses the
// first one.
func RESTConfig(c Config) (*rest.Config, error) {
	config, err := credentials(c)
	if err == nil && len(c.Upstream) > 0 {
		config.Host, config.APIPath = c.Upstream[0], ""
	}
	return config, err
}

func credentials(c Config) (*rest.Config, error) {
	if c.Kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("--kubeconfig is required outside a cluster")
		}
		return config, err
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read --kubeconfig %s: %w", c.Kubeconfig, err)
	}
	return config, nil
}
