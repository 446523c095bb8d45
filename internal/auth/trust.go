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

// TrustConfig says where it stands whose certificates count.
type TrustConfig struct {
	// ClientCAFile and ProxyCAFile are bundles in PEM; what is empty is read from the upstream's ConfigMap.
	ClientCAFile, ProxyCAFile string
	// ProxyNames and ProxyHeaders go with ProxyCAFile; without it the ConfigMap has them.
	ProxyNames   []string
	ProxyHeaders ProxyHeaders
	// Upstream has the ConfigMap; nil: what is not in files counts for nothing.
	Upstream Getter
	Log      *zap.Logger
}

const (
	// trustEvery is how often what is trusted is read again; a bundle that was withdrawn counts for no longer.
	trustEvery = 10 * time.Second
	trustWait  = 5 * time.Second // how long the upstream may take
)

// Trust is whose certificates count: the authorities of clients, and of front proxies. It holds the last bundles that
// could be read. All of it is read and replaced at once, so that no proxy's name is ever believed under the
// certificates that another state of the configuration has.
type Trust struct {
	config TrustConfig
	now    atomic.Pointer[trusted]
	// What follows is for refresh only.
	warned                   string // what was logged last
	clientsGone, proxiesGone absence
}

// trusted is a state of the trust; immutable.
type trusted struct {
	clients *authority // nil: client certificates prove nobody
	proxies *proxies   // nil: nobody may speak for others
	// known is false until the upstream has said what its ConfigMap holds, or that there is none.
	known bool
	hints *x509.CertPool // both bundles; nil without
	wrong string         // why some of what counts, or did, could not be read; empty when all could
}

// NewTrust reads the files, which have to be good, and starts nothing.
func NewTrust(c TrustConfig) (*Trust, error) {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	t := &Trust{config: c}
	t.now.Store(&trusted{known: !c.asksUpstream()})
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

var errNoCertificate = errors.New("a file of certificate authorities is empty, or is not there")

func (c TrustConfig) asksUpstream() bool {
	return c.Upstream != nil && (c.ClientCAFile == "" || c.ProxyCAFile == "")
}

func (t *Trust) current() *trusted { return t.now.Load() }

// Hints are the authorities that clients are told in a handshake, so that they choose a certificate that is any use;
// nil while there are none. The pool is the same one until it changes.
func (t *Trust) Hints() *x509.CertPool { return t.current().hints }

// Problem is why some of what counts, or counted until it was gone for too long, cannot be read; empty when all can.
func (t *Trust) Problem() string { return t.current().wrong }

// run reads again and again until the context ends.
func (t *Trust) run(ctx context.Context) {
	ticker := time.NewTicker(trustEvery)
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

// refresh takes what can be read; of what cannot, the last good state stays, but not for long where it is gone.
func (t *Trust) refresh(ctx context.Context) {
	var cluster clusterTrust
	var err error
	known := true
	if t.config.asksUpstream() {
		cluster, err = readCluster(ctx, t.config.Upstream)
		known = err == nil || errors.Is(err, errNoConfigMap) || len(cluster.clientCA) > 0 || t.current().known
	}
	next, loadErr := t.load(cluster)
	next.known = known
	all := errors.Join(err, loadErr)
	if all != nil && (loadErr != nil || next.clients != nil || next.proxies != nil) {
		next.wrong = all.Error()
	}
	t.now.Store(next)
	t.warn(ctx, all)
}

// warn says once what is wrong, and that it is over.
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
		t.config.Log.Info("Read all certificate authorities again")
		return
	}
	now := t.current()
	t.config.Log.Warn("Failed to read certificate authorities",
		zap.Error(err), zap.Bool("client certificates count", now.clients != nil), zap.Bool("front proxies count", now.proxies != nil))
}

var errTrustUnknown = errors.New("whose certificates count has not been read yet")

// byFrontProxy names the caller as a proxy does; nobody where proxies do not count.
func (t *trusted) byFrontProxy(r *http.Request) (*Caller, error) {
	if t.proxies == nil {
		return nil, t.unknown()
	}
	return t.proxies.byHeaders(r)
}

// byCertificate names the caller by the certificate; nobody where those of clients do not count.
func (t *trusted) byCertificate(r *http.Request) (*Caller, error) {
	if t.clients == nil {
		return nil, t.unknown()
	}
	return t.clients.byCertificate(r)
}

// unknown is no refusal: the certificate may prove somebody in a moment.
func (t *trusted) unknown() error {
	if t.known {
		return nil
	}
	return &UnavailableError{Err: errTrustUnknown}
}
