package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// WrapConfig returns a copy of a configuration that sends reads to the facade at an https URL, and everything else to
// kube-apiserver (see the package comment). ca contains the CA certificates that verify the facade, in PEM; if it is
// empty, the CA certificates of the system are used. The configuration must not have a Transport, because WrapConfig
// could not use that Transport's credentials for the facade. No connection is opened before the first request.
func WrapConfig(cfg *rest.Config, facadeURL string, ca []byte) (*rest.Config, error) {
	if cfg.Transport != nil {
		return nil, errors.New("wrap rest.Config: it has a Transport: set TLSClientConfig, Dial or WrapTransport instead")
	}
	facade, err := parseFacade(facadeURL)
	if err != nil {
		return nil, err
	}
	roots, err := authorities(ca)
	if err != nil {
		return nil, err
	}
	overTLS := cfg.Insecure || len(cfg.CAFile)+len(cfg.CAData)+len(cfg.CertFile)+len(cfg.CertData) > 0
	server, _, err := rest.DefaultServerURL(cfg.Host, "", schema.GroupVersion{}, overTLS)
	if err != nil {
		return nil, fmt.Errorf("wrap rest.Config: parse Host: %w", err)
	}
	s := &splitter{
		facade: facade, roots: roots, server: server, prefix: strings.TrimSuffix(server.Path, "/"),
		proxy: cfg.Proxy, uncompressed: cfg.DisableCompression,
	}
	split := rest.CopyConfig(cfg)
	split.WrapTransport = transport.Wrappers(s.wrap, cfg.WrapTransport) // innermost, so credentials are already set
	return split, nil
}

// parseFacade returns the URL of a facade, which must have the scheme https, because requests contain tokens.
func parseFacade(text string) (*url.URL, error) {
	facade, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse the facade's URL: %w", err)
	}
	if facade.Scheme != "https" || facade.Host == "" || strings.Trim(facade.Path, "/") != "" ||
		facade.RawQuery != "" || facade.User != nil {
		return nil, fmt.Errorf("parse the facade's URL: got %q, want https://HOST or https://HOST:PORT", text)
	}
	return facade, nil
}

// authorities parses CA certificates in PEM. If ca is empty, it returns nil, which selects the CA certificates of the
// system.
func authorities(ca []byte) (*x509.CertPool, error) {
	if len(ca) == 0 {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("parse the facade's authorities: no certificate in PEM found")
	}
	return roots, nil
}

// splitter is shared by all clients of a wrapped configuration.
type splitter struct {
	facade       *url.URL
	roots        *x509.CertPool
	server       *url.URL // kube-apiserver
	prefix       string   // prefix of kube-apiserver's paths, without a slash at the end
	proxy        func(*http.Request) (*url.URL, error)
	uncompressed bool

	mu     sync.Mutex
	shared http.RoundTripper // transport to the facade, for clients without a certificate; nil before the first read
}

// wrap is a transport.WrapperFunc. Its argument is the transport to kube-apiserver.
func (s *splitter) wrap(base http.RoundTripper) http.RoundTripper {
	return &splitTransport{
		splitter: s, base: base, reads: sync.OnceValues(func() (http.RoundTripper, error) { return s.transport(base) }),
	}
}

// transport returns a client's transport to the facade. It takes the client's certificate from the transport to
// kube-apiserver and not from the configuration, because a copy of the configuration may have another certificate. It
// also uses that transport's dialer, because client-go closes the dialer's connections when a certificate is rotated.
func (s *splitter) transport(base http.RoundTripper) (http.RoundTripper, error) {
	own, err := utilnet.TLSClientConfig(base)
	if err != nil {
		return nil, fmt.Errorf("connect to the facade: find the client certificate: %w", err)
	}
	if own != nil && (own.GetClientCertificate != nil || len(own.Certificates) > 0) {
		return s.connect(base, &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: s.roots,
			Certificates: own.Certificates, GetClientCertificate: own.GetClientCertificate,
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		s.shared, err = s.connect(base, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.roots})
	}
	return s.shared, err
}

func (s *splitter) connect(base http.RoundTripper, config *tls.Config) (http.RoundTripper, error) {
	dial, err := utilnet.DialerFor(base)
	if err != nil {
		return nil, fmt.Errorf("connect to the facade: find the dialer: %w", err)
	}
	return utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig: config, DialContext: dial, Proxy: s.proxy,
		DisableCompression: s.uncompressed, MaxIdleConnsPerHost: 25,
	}), nil
}

// splitTransport sends the requests of a client to either server. It is safe for concurrent use.
type splitTransport struct {
	*splitter
	base  http.RoundTripper
	reads func() (http.RoundTripper, error)
}

var _ utilnet.RoundTripperWrapper = (*splitTransport)(nil)

// WrappedRoundTripper returns the transport to kube-apiserver, for connections that are upgraded.
func (t *splitTransport) WrappedRoundTripper() http.RoundTripper { return t.base }

// RoundTrip implements http.RoundTripper.
func (t *splitTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	requested, ours := strings.CutPrefix(r.URL.Path, t.prefix)
	if !ours || r.URL.Scheme != t.server.Scheme || r.URL.Host != t.server.Host || !isRead(r) {
		return t.base.RoundTrip(r)
	}
	to := destinationOf(requested)
	if to == direct {
		return t.base.RoundTrip(r)
	}
	reads, err := t.reads()
	if err != nil {
		return nil, err
	}
	response, err := reads.RoundTrip(t.redirect(r, requested))
	if !fallsBack(to, response, err) || r.Context().Err() != nil {
		t.warn(response)
		return response, t.explain(err)
	}
	if response != nil {
		response.Body.Close()
	}
	return t.base.RoundTrip(r)
}

// isRead reports whether a facade that serves the path can answer the request. It returns false for impersonation,
// which facades refuse.
func isRead(r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Upgrade") != "" || (r.Body != nil && r.Body != http.NoBody) {
		return false
	}
	for name := range r.Header {
		if strings.HasPrefix(http.CanonicalHeaderKey(name), "Impersonate-") {
			return false
		}
	}
	return true
}

func (t *splitTransport) redirect(r *http.Request, requested string) *http.Request {
	to := *r.URL
	to.Scheme, to.Host, to.Path = t.facade.Scheme, t.facade.Host, requested
	to.RawPath = strings.TrimPrefix(to.RawPath, t.prefix)
	r = r.WithContext(r.Context())
	r.URL, r.Host = &to, to.Host
	return r
}

// fallsBack reports whether a read goes to kube-apiserver after the facade's answer or error.
func fallsBack(to destination, response *http.Response, err error) bool {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return false
	case err != nil:
		return to == facadeFirst
	case response.StatusCode == http.StatusServiceUnavailable:
		return to == facadeFirst
	default:
		return response.StatusCode == http.StatusNotImplemented
	}
}

// warn adds a warning, which client-go prints, to a 401 of the facade. Kubernetes names no cause in a 401.
func (t *splitTransport) warn(response *http.Response) {
	if response != nil && response.StatusCode == http.StatusUnauthorized {
		response.Header.Add("Warning", `299 - "the facade `+t.facade.Host+` refused the credentials: use those of kube-apiserver, `+
			`such as a token that has not expired, for an audience of kube-apiserver"`)
	}
}

// explain adds the facade's name and advice to a failed verification of a certificate. Otherwise the error names only
// kube-apiserver, because client-go adds the URL of the original request.
func (t *splitTransport) explain(err error) error {
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) {
		return err
	}
	return fmt.Errorf("read from the facade %s: %w: the CA certificates in WrapConfig must contain the authority of the "+
		"facade's certificate, and that certificate must name %s", t.facade.Host, err, t.facade.Hostname())
}
