package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"slices"
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
	warned string // what was logged last; only for refresh
}

// trusted is a state of the trust; immutable.
type trusted struct {
	clients *authority // nil: client certificates prove nobody
	proxies *proxies   // nil: nobody may speak for others
	// known is false until the upstream has said what its ConfigMap holds, or that there is none.
	known bool
	hints *x509.CertPool // both bundles; nil without
}

// NewTrust reads the files, which have to be good, and starts nothing.
func NewTrust(c TrustConfig) (*Trust, error) {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	t := &Trust{config: c}
	t.now.Store(&trusted{known: !c.asksUpstream()})
	next, err := t.load(clusterTrust{})
	if err != nil {
		return nil, err
	}
	t.now.Store(next)
	return t, nil
}

func (c TrustConfig) asksUpstream() bool {
	return c.Upstream != nil && (c.ClientCAFile == "" || c.ProxyCAFile == "")
}

func (t *Trust) current() *trusted { return t.now.Load() }

// Hints are the authorities that clients are told in a handshake, so that they choose a certificate that is any use;
// nil while there are none. The pool is the same one until it changes.
func (t *Trust) Hints() *x509.CertPool { return t.current().hints }

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

// refresh takes what can be read; of what cannot, the last good state stays.
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
	t.now.Store(next)
	t.warn(ctx, errors.Join(err, loadErr))
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
		t.config.Log.Info("all of what is trusted was read")
		return
	}
	now := t.current()
	t.config.Log.Warn("what is trusted cannot be read; what was read before stays",
		zap.Error(err), zap.Bool("client certificates count", now.clients != nil), zap.Bool("front proxies count", now.proxies != nil))
}

// load is the next state, of which each half is the last good one if it cannot be read.
func (t *Trust) load(cluster clusterTrust) (*trusted, error) {
	before := t.current()
	clients, clientsErr := t.loadClients(before.clients, cluster)
	proxies, proxiesErr := t.loadProxies(before.proxies, cluster)
	next := &trusted{clients: clients, proxies: proxies, known: before.known, hints: before.hints}
	if clients != before.clients || proxies != before.proxies {
		next.hints = hintsOf(clients, proxies)
	}
	return next, errors.Join(clientsErr, proxiesErr)
}

func (t *Trust) loadClients(before *authority, cluster clusterTrust) (*authority, error) {
	pem, err := bundle(t.config.ClientCAFile, cluster.clientCA)
	if err != nil || len(pem) == 0 || before != nil && slices.Equal(pem, before.pem) {
		return before, err
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
	pem, err := bundle(t.config.ProxyCAFile, cluster.proxyCA)
	if err != nil || len(pem) == 0 ||
		before != nil && slices.Equal(pem, before.pem) && slices.Equal(names, before.names) && headers.equal(before.headers) {
		return before, err
	}
	next, err := newProxies(pem, names, headers)
	if err != nil {
		return before, err
	}
	return next, nil
}

// bundle is the file's, if there is one.
func bundle(file string, fromCluster []byte) ([]byte, error) {
	if file == "" {
		return fromCluster, nil
	}
	return os.ReadFile(file)
}

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
