package facade

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// pairEvery is the interval at which the files are read. They are not watched, because kubelet updates the volume of a
// Secret by a symbolic link to another directory.
const pairEvery = 10 * time.Second

// ServingPair is the serving certificate and its key. They come from files or from the authority.
type ServingPair struct {
	certFile, keyFile string
	authority         *Authority // nil for files
	log               *zap.Logger
	now               atomic.Pointer[tls.Certificate]

	// Only reload and Run use the fields below.
	cert, key []byte // content of the files from which the pair was read
	bad       bool   // whether the last read failed
}

// NewServingPair reads the configured files, or lets the authority issue a pair. Without both, it creates a pair in
// --cert-dir, as kube-apiserver does.
func NewServingPair(c Config, log *zap.Logger) (*ServingPair, error) {
	p := &ServingPair{certFile: c.CertFile, keyFile: c.KeyFile, authority: c.Authority, log: log}
	if p.certFile == "" && p.authority == nil {
		p.certFile, p.keyFile = filepath.Join(c.CertDir, "listfacade.crt"), filepath.Join(c.CertDir, "listfacade.key")
		if err := ensureSelfSigned(p.certFile, p.keyFile, c.BindAddress); err != nil {
			return nil, fmt.Errorf("load or create self-signed certificate in --cert-dir %s: %w", c.CertDir, err)
		}
	}
	if _, err := p.refresh(); err != nil {
		return nil, fmt.Errorf("load serving certificate: %w", err)
	}
	return p, nil
}

// Run refreshes the pair periodically until the context ends. Open connections keep their certificate.
func (p *ServingPair) Run(ctx context.Context) {
	ticker := time.NewTicker(pairEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		changed, err := p.refresh()
		switch {
		case err != nil && !p.bad:
			p.log.Warn("Failed to replace serving certificate; keeping the previous one", zap.Error(err))
		case changed:
			p.log.Info("Replaced serving certificate", zap.Time("until", p.NotAfter()))
		}
		p.bad = err != nil
	}
}

func (p *ServingPair) refresh() (changed bool, err error) {
	if p.authority != nil {
		return p.authority.renew(p)
	}
	return p.reload()
}

// reload reads the files, and uses their pair if it is valid. changed is true if the pair has changed.
func (p *ServingPair) reload() (changed bool, err error) {
	cert, err := os.ReadFile(p.certFile)
	if err != nil {
		return false, err
	}
	key, err := os.ReadFile(p.keyFile)
	if err != nil {
		return false, err
	}
	if bytes.Equal(cert, p.cert) && bytes.Equal(key, p.key) {
		return false, nil
	}
	// During a renewal one file may be old and the other new. This read then fails, and the next read finds two new files.
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, err
	}
	p.cert, p.key = cert, key
	p.now.Store(&pair)
	return true, nil
}

func (p *ServingPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.now.Load(), nil }

// NotAfter returns the time at which the current certificate expires.
func (p *ServingPair) NotAfter() time.Time { return p.now.Load().Leaf.NotAfter }
