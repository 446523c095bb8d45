package auth

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"go.uber.org/zap"
)

// load returns the next state. A bundle that cannot be read keeps its last good value, or becomes nil if it has been
// missing for too long.
func (t *Trust) load(cluster clusterTrust) (*trusted, error) {
	before := t.current()
	clients, clientsErr := t.loadClients(before.clients, cluster)
	proxies, proxiesErr := t.loadProxies(before.proxies, cluster)
	over, clientsErr := t.clientsGone.note("bundle of clients' certificate authorities", clientsErr, before.clients != nil)
	if over {
		clients = nil
	}
	over, proxiesErr = t.proxiesGone.note("bundle of front proxies' certificate authorities", proxiesErr,
		before.proxies != nil)
	if over {
		proxies = nil
	}
	noClients, noProxies := clients == nil && before.clients != nil, proxies == nil && before.proxies != nil
	if noClients || noProxies {
		t.config.Log.Info("Withdrew trust in certificate authorities", zap.Bool("clients", noClients),
			zap.Bool("frontProxies", noProxies))
	}
	next := &trusted{clients: clients, proxies: proxies, known: before.known, hints: before.hints}
	if clients != before.clients || proxies != before.proxies {
		next.hints = hintsOf(clients, proxies)
	}
	return next, errors.Join(clientsErr, proxiesErr)
}

func (t *Trust) loadClients(before *authority, cluster clusterTrust) (*authority, error) {
	pem, err := bundle(t.config.ClientCAFile, cluster.clientCA, cluster.unread)
	switch {
	case err != nil:
		return before, err
	case isEmpty(pem):
		return nil, nil
	case before != nil && slices.Equal(pem, before.pem):
		return before, nil
	}
	next, err := newAuthority(pem)
	if err != nil {
		return before, err
	}
	return next, nil
}

func (t *Trust) loadProxies(before *proxies, cluster clusterTrust) (*proxies, error) {
	names, headers := cluster.proxyNames, cluster.proxyHeaders
	if t.config.ProxyCAFile != "" {
		names, headers = t.config.ProxyNames, t.config.ProxyHeaders
	}
	pem, err := bundle(t.config.ProxyCAFile, cluster.proxyCA, cluster.unread || cluster.proxiesUnread)
	switch {
	case err != nil:
		return before, err
	case isEmpty(pem):
		return nil, nil
	case before != nil && slices.Equal(pem, before.pem) && slices.Equal(names, before.names) &&
		headers.equal(before.headers):
		return before, nil
	}
	next, err := newProxies(pem, names, headers)
	if err != nil {
		return before, err
	}
	return next, nil
}

// bundle returns the content of the file, or of the ConfigMap if no file is configured. It returns errAbsent if there
// is no bundle, errUnread if that is unknown, and errEmpty if the file is empty.
func bundle(file string, fromCluster []byte, unread bool) ([]byte, error) {
	if file != "" {
		pem, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%w: %w", errAbsent, err)
		case err == nil && isEmpty(pem):
			err = errEmpty
		}
		return pem, err
	}
	switch {
	case unread:
		return nil, errUnread
	case fromCluster == nil:
		return nil, errAbsent
	}
	return fromCluster, nil
}

// isEmpty reports whether a bundle is empty, which withdraws trust.
func isEmpty(pem []byte) bool { return len(bytes.TrimSpace(pem)) == 0 }

func hintsOf(clients *authority, proxies *proxies) *x509.CertPool {
	pool := x509.NewCertPool()
	if clients != nil {
		pool.AppendCertsFromPEM(clients.pem)
	}
	if proxies != nil {
		pool.AppendCertsFromPEM(proxies.pem)
	}
	return pool
}
