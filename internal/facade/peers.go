package facade

import (
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/upstream"
)

// newPeers are clients of the facades that lanes are filled from, with the credentials of the upstream's configuration.
// Who gets those has to prove who he is, also where the upstream need not.
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
			return nil, fmt.Errorf("prepare to read --warm-from %s: %w", address, err)
		}
		peers = append(peers, client)
	}
	return peers, nil
}

// validateWarm refuses addresses to which credentials would go unprotected.
func (c Config) validateWarm() error {
	for _, address := range c.WarmFrom {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("--warm-from %q: a URL as in https://listfacade.listfacade-system.svc", address)
		}
	}
	if c.WarmFromCAFile != "" && len(c.WarmFrom) == 0 {
		return fmt.Errorf("--warm-from-ca-file %s goes with --warm-from", c.WarmFromCAFile)
	}
	return nil
}
