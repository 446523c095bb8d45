package split

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"strings"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/upstream"
)

// Split is the proxy. Safe for concurrent use.
type Split struct {
	options   Options
	rules     Rules
	log       *zap.Logger
	hop       upstream.Hop
	pair      *facade.ServingPair
	server    *http.Server
	metrics   *metrics.Split
	apiServer *server
	facades   *facades
	shutdown  *shutdown
	fallback  fallback
	// toFacades forwards to the facades. The others forward to kube-apiserver: readAPIServer forwards GETs without a body
	// and without an upgrade, and toAPIServer all other requests.
	toFacades, readAPIServer, toAPIServer forwarder
}

// New returns a proxy that does not serve yet. It reads the files that the options name.
func New(o Options, log *zap.Logger) (*Split, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Split{
		options: o, rules: DefaultRules(), log: log, hop: upstream.NewHop(), shutdown: newShutdown(),
		fallback: newFallback(o.FallbackReads, o.FallbackWatches),
	}
	var err error
	if o.RulesFile != "" {
		if s.rules, err = ReadRules(o.RulesFile); err != nil {
			return nil, err
		}
	}
	if s.apiServer, err = newServer(KubeAPIServer, o.KubeAPIServer, o.KubeAPIServerCAFile, log); err != nil {
		return nil, fmt.Errorf("--kube-apiserver: %w", err)
	}
	s.facades = &facades{lost: s.lost}
	for _, address := range o.Facades {
		f, err := newServer(Facade, address, o.FacadeCAFile, log)
		if err != nil {
			return nil, fmt.Errorf("--facade: %w", err)
		}
		s.facades.all = append(s.facades.all, f)
	}
	return s, s.prepare()
}

func (s *Split) prepare() (err error) {
	if s.pair, err = facade.NewServingPair(s.options.Serving, s.log); err != nil {
		return err
	}
	config := facade.TLSConfig(s.pair, nil)
	config.ClientAuth = tls.RequestClientCert // the refusal explains that a certificate cannot be passed on
	if s.server, err = facade.NewServer(config, s.Handler(), s.log); err != nil {
		return err
	}
	s.metrics = metrics.NewSplit(s.targets, s.certificates)
	toAPIServer := func(p *httputil.ProxyRequest) { p.SetURL(s.apiServer.base) }
	s.readAPIServer = newForwarder(s.apiServer.many, toAPIServer, s.hop, s.server.ErrorLog)
	s.toAPIServer = newForwarder(s.apiServer.one, func(p *httputil.ProxyRequest) {
		toAPIServer(p)
		sendOnce(p.Out.Header)
	}, s.hop, s.server.ErrorLog)
	s.toFacades = newForwarder(s.facades, func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host = "https", "facade" // facades.RoundTrip sets the address
	}, s.hop, s.server.ErrorLog)
	return nil
}

// Handler returns the handler of all requests.
func (s *Split) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

func (s *Split) serveHTTP(w http.ResponseWriter, r *http.Request) {
	d := s.rules.Decide(r)
	ctx, leave := s.shutdown.enter(r.Context(), d)
	defer leave()
	r = r.WithContext(ctx)
	defer s.metrics.Request(string(d.Target), string(d.Reason), kindOf(d))()
	switch {
	case d.Reason == Health:
		s.health(w, r)
	case d.Reason == Malformed:
		refuse(w, r, malformed(r))
	case s.hop.Sees(r.Header):
		refuse(w, r, loop())
	case hasOnlyCertificate(r):
		s.metrics.Refused("certificate")
		refuse(w, r, unauthorized())
	case d.Target == Facade:
		s.toFacades.serve(w, r, d.Watch, func(w http.ResponseWriter, x *exchange, err error) {
			s.withoutFacade(w, x, d, err)
		})
	case r.Method == http.MethodGet && r.ContentLength == 0 && d.Reason != Upgrade:
		s.readAPIServer.serve(w, r, d.Watch, s.unanswered)
	default:
		s.toAPIServer.serve(w, r, false, s.unanswered)
	}
}

func kindOf(d Decision) string {
	switch {
	case d.Watch:
		return "watch"
	case d.Reason == Upgrade:
		return "upgrade"
	}
	return "request"
}

// hasOnlyCertificate reports whether a client authenticates only by a certificate, which a proxy cannot pass on.
// The token may also be in Sec-WebSocket-Protocol: browsers send it there for a websocket.
func hasOnlyCertificate(r *http.Request) bool {
	return r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && r.Header.Get("Authorization") == "" &&
		!strings.Contains(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), "bearer.authorization.k8s.io.")
}

// withoutFacade answers a read that no facade answered. Small answers may come from kube-apiserver.
func (s *Split) withoutFacade(w http.ResponseWriter, x *exchange, d Decision, err error) {
	switch {
	case x.request.Context().Err() != nil:
		ended(w, x)
		return
	case !errors.Is(err, errNoFacade):
		x.refuse(w, unavailable("the connection to a facade failed"))
		return
	}
	if !d.Small {
		s.metrics.Refused("large")
		x.refuse(w, s.refusalOfLarge())
		return
	}
	r, leave, ok := s.fallback.enter(x.request, d)
	if !ok {
		s.metrics.Refused("busy")
		refuse(w, x.request, tooMany(textBusy))
		return
	}
	defer leave()
	s.metrics.FellBack(kindOf(d))
	s.readAPIServer.serve(w, r, d.Watch, s.unanswered)
}

// refusalOfLarge returns the answer for a read that only a facade may answer.
func (s *Split) refusalOfLarge() metav1.Status {
	if s.facades.untrusted() {
		return untrusted(Facade)
	}
	return tooMany(textLarge)
}

func (s *Split) unanswered(w http.ResponseWriter, x *exchange, err error) {
	if errors.Is(x.request.Context().Err(), context.Canceled) {
		ended(w, x)
		return
	}
	s.lost(s.apiServer, x.request, err)
	x.refuse(w, s.unreachable(x.request, err))
}

// ended handles a request whose context ended before its answer. A watch that the shutdown ends is refused. Any other
// request is aborted, because its client must not receive an empty answer with 200.
func ended(w http.ResponseWriter, x *exchange) {
	if errors.Is(context.Cause(x.request.Context()), upstream.ErrEnd) {
		x.refuse(w, unavailable("the server is shutting down"))
		return
	}
	panic(http.ErrAbortHandler)
}

func (s *Split) lost(at *server, r *http.Request, err error) {
	s.metrics.Failed(string(at.kind))
	at.lost(r, err)
}
