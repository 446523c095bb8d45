package facade

import (
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/upstream"
)

// newPeers returns clients of the facades from which lanes are filled. They use the credentials of the upstream's
// configuration. They always verify the peer's certificate, because the peer receives these credentials. This is so
// even if the configuration disables verification of the upstream.
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

// validateWarm returns an error for an address that is not a plain https URL.
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
