package facade

import (
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/upstream"
)

// newPeers returns clients for the facades from which lanes are filled. The peers receive the upstream's credentials.
// Therefore their certificates are always verified, even if verification of the upstream is disabled.
func newPeers(c Config, config *rest.Config, hop upstream.Hop) ([]*upstream.Client, error) {
	var peers []*upstream.Client
	for _, address := range c.WarmFrom {
		peer := rest.CopyConfig(config)
		peer.Host, peer.APIPath = address, ""
		peer.Insecure, peer.ServerName = false, ""
		if c.WarmFromCAFile != "" {
			peer.CAFile, peer.CAData = c.WarmFromCAFile, nil
		}
		client, err := upstream.NewClient(peer, hop)
		if err != nil {
			return nil, fmt.Errorf("create client for --warm-from %s: %w", address, err)
		}
		peers = append(peers, client)
	}
	return peers, nil
}

func (c Config) validateWarm() error {
	for _, address := range c.WarmFrom {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("--warm-from %q: must be a URL such as https://listfacade.listfacade-system.svc", address)
		}
	}
	if c.WarmFromCAFile != "" && len(c.WarmFrom) == 0 {
		return fmt.Errorf("--warm-from-ca-file %s: requires --warm-from", c.WarmFromCAFile)
	}
	return nil
}
