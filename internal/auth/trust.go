package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// TrustConfig configures the CA bundles of clients and front proxies.
type TrustConfig struct {
	// ClientCAFile and ProxyCAFile are PEM files. If one is empty, the upstream's ConfigMap is used in its place.
	ClientCAFile, ProxyCAFile string
	// ProxyNames and ProxyHeaders apply with ProxyCAFile. Without it, they come from the ConfigMap.
	ProxyNames   []string
	ProxyHeaders ProxyHeaders
	// Upstream reads the ConfigMap; nil trusts files only.
	Upstream Getter
	Log      *zap.Logger
}

const (
	// trustInterval is the interval at which CA bundles are read again. A CA that is removed from a bundle stays trusted
	// for up to this time.
	trustInterval = 10 * time.Second
	trustTimeout  = 5 * time.Second // of the request for the ConfigMap
)

// Trust verifies certificates of clients and front proxies against the last CA bundles that could be read. Bundles,
// names and headers are replaced in one step, so a proxy's headers are never combined with bundles of another
// configuration (ADR 14).
type Trust struct {
	config TrustConfig
	now    atomic.Pointer[trusted]
	// The fields below are used by load and refresh only.
	warned                   string // last logged problem
	clientsGone, proxiesGone absence
}

// trusted is one state of Trust. It is immutable.
type trusted struct {
	clients *authority // nil if client certificates are not accepted
	proxies *proxies   // nil if front proxies are not accepted
	// known is false until the ConfigMap has been read, or is known to be absent or not permitted.
	known   bool
	hints   *x509.CertPool // both bundles; nil or empty if neither is trusted
	problem string         // text of the last error in reading a bundle; empty if there is none
}

// NewTrust reads the files, each of which must contain a valid certificate. It starts no goroutine.
func NewTrust(c TrustConfig) (*Trust, error) {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	t := &Trust{config: c}
	t.now.Store(&trusted{known: !c.readsUpstream()})
	next, err := t.load(clusterTrust{unread: true})
	if err != nil {
		return nil, err
	}
	if c.ClientCAFile != "" && next.clients == nil {
		return nil, fmt.Errorf("%w: %s", errNoCertificate, c.ClientCAFile)
	}
	if c.ProxyCAFile != "" && next.proxies == nil {
		return nil, fmt.Errorf("%w: %s", errNoCertificate, c.ProxyCAFile)
	}
	t.now.Store(next)
	return t, nil
}

var errNoCertificate = errors.New("CA bundle file is missing or empty")

func (c TrustConfig) readsUpstream() bool {
	return c.Upstream != nil && (c.ClientCAFile == "" || c.ProxyCAFile == "")
}

func (t *Trust) current() *trusted { return t.now.Load() }

// Hints returns the CA certificates that the server names in a TLS handshake, so that clients choose a suitable
// certificate. The pool may be nil or empty. It is replaced when the bundles change.
func (t *Trust) Hints() *x509.CertPool { return t.current().hints }

// Problem returns why a trusted or previously trusted bundle cannot be read; empty if there is no problem.
func (t *Trust) Problem() string { return t.current().problem }

func (t *Trust) run(ctx context.Context) {
	ticker := time.NewTicker(trustInterval)
	defer ticker.Stop()
	for {
		t.refresh(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// refresh reads all bundles. If one cannot be read, the last good one stays in use, but only for absenceGrace if the
// bundle is missing.
func (t *Trust) refresh(ctx context.Context) {
	var cluster clusterTrust
	var err error
	known := true
	if t.config.readsUpstream() {
		cluster, err = readCluster(ctx, t.config.Upstream)
		known = err == nil || errors.Is(err, errNoConfigMap) || len(cluster.clientCA) > 0 || t.current().known
	}
	next, loadErr := t.load(cluster)
	next.known = known
	all := errors.Join(err, loadErr)
	if all != nil && (loadErr != nil || next.clients != nil || next.proxies != nil) {
		next.problem = all.Error()
	}
	t.now.Store(next)
	t.warn(ctx, all)
}

func (t *Trust) warn(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == t.warned || ctx.Err() != nil {
		return
	}
	t.warned = text
	if err == nil {
		t.config.Log.Info("Certificate authorities can be read again")
		return
	}
	now := t.current()
	t.config.Log.Warn("Failed to read certificate authorities",
		zap.Error(err), zap.Bool("clientsTrusted", now.clients != nil), zap.Bool("frontProxiesTrusted", now.proxies != nil))
}

var errTrustUnknown = errors.New("trusted CA bundles have not been read yet")

func (t *trusted) byFrontProxy(r *http.Request) (*Caller, error) {
	if t.proxies == nil {
		return nil, t.unknownError()
	}
	return t.proxies.byHeaders(r)
}

func (t *trusted) byCertificate(r *http.Request) (*Caller, error) {
	if t.clients == nil {
		return nil, t.unknownError()
	}
	return t.clients.byCertificate(r)
}

// unknownError returns an error while the bundles are unknown: the certificate may be valid a moment later.
func (t *trusted) unknownError() error {
	if t.known {
		return nil
	}
	return &UnavailableError{Err: errTrustUnknown}
}
