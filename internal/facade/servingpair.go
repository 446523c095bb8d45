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

// pairEvery is how often the serving pair is read again. It is read rather than watched: a volume of a Secret is
// renewed by swapping a link above the files.
const pairEvery = 10 * time.Second

// servingPair is the serving certificate and its key, as they were when the files last held a pair.
type servingPair struct {
	certFile, keyFile string
	log               *zap.Logger
	now               atomic.Pointer[tls.Certificate]

	// The rest is for reload.
	cert, key []byte // what the pair was read from
	bad       bool   // what was read last is no pair
}

// newServingPair reads the pair that the Config names, or makes one in --cert-dir, as kube-apiserver does.
func newServingPair(c Config, log *zap.Logger) (*servingPair, error) {
	p := &servingPair{certFile: c.CertFile, keyFile: c.KeyFile, log: log}
	if p.certFile == "" {
		p.certFile, p.keyFile = filepath.Join(c.CertDir, "listfacade.crt"), filepath.Join(c.CertDir, "listfacade.key")
		if err := ensureSelfSigned(p.certFile, p.keyFile, c.BindAddress); err != nil {
			return nil, fmt.Errorf("make a self-signed certificate in --cert-dir %s: %w", c.CertDir, err)
		}
	}
	if _, err := p.reload(); err != nil {
		return nil, fmt.Errorf("load the serving certificate: %w", err)
	}
	return p, nil
}

// run reads the pair again and again until the context ends. Connections that there are keep the certificate that they
// were made with.
func (p *servingPair) run(ctx context.Context) {
	ticker := time.NewTicker(pairEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		changed, err := p.reload()
		switch {
		case err != nil && !p.bad:
			p.log.Warn("the serving certificate cannot be read; the one before is served on", zap.Error(err))
		case changed:
			p.log.Info("serving another certificate", zap.Time("until", p.now.Load().Leaf.NotAfter))
		}
		p.bad = err != nil
	}
}

// reload takes what the files hold if it is a pair, and tells whether it is another one.
func (p *servingPair) reload() (changed bool, err error) {
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
	// One of the two may be of before a renewal, and the other of after it: the next time they go together.
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, err
	}
	p.cert, p.key = cert, key
	p.now.Store(&pair)
	return true, nil
}

func (p *servingPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.now.Load(), nil }
