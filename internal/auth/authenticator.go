package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
)

// AuthenticatorConfig configures an Authenticator. Zero durations, rates and Outcomes select the defaults.
type AuthenticatorConfig struct {
	// Trust verifies certificates of clients and front proxies; nil disables both.
	Trust *Trust
	// Tokens reviews bearer tokens; nil disables them.
	Tokens TokenReviewer
	// Seats bounds the reviews of Tokens; nil selects new Seats.
	Seats *Seats
	// Audiences are the audiences of which a token must have at least one; empty selects those of the upstream.
	Audiences []string
	// SuccessTTL and FailureTTL are how long positive and negative TokenReview results are cached. The default is 10 s.
	SuccessTTL, FailureTTL time.Duration
	// Bound verifies bound service account tokens without TokenReviews; the zero value disables that.
	Bound BoundTokens
	// Failures bounds the tokens that fail authentication, per source and in total.
	Failures FailureLimits
	// Anonymous decides how requests without credentials are treated; the zero value is AnonymousOff. AnonymousAsUpstream
	// requires Probe, a client that sends no credentials.
	Anonymous AnonymousMode
	Probe     Getter
	Outcomes  Outcomes
	// Log may be nil. It must bound the rate of lines with the same message, because clients can cause lines at will.
	Log *zap.Logger
}

// FailureLimits bound the tokens that fail authentication, per second and as a burst. A source is an IPv4 address or a
// /64 prefix of IPv6.
type FailureLimits struct {
	Source, Total           rate.Limit // default 10 per second, and the higher of 100 and ten times Source
	SourceBurst, TotalBurst int        // default 50, and four times Total
}

func (l FailureLimits) withDefaults() FailureLimits {
	if l.Source == 0 {
		l.Source, l.SourceBurst = 10, 50
	}
	if l.Total == 0 {
		l.Total = max(100, 10*l.Source)
		l.TotalBurst = int(4 * l.Total)
	}
	return l
}

const (
	defaultTTL = 10 * time.Second // as in kube-apiserver's delegated authentication
	// maxToken is the size in bytes above which a token is refused without a review; real tokens are far smaller.
	maxToken = 16 << 10
)

// Authenticator identifies the sender of a request, as the delegated authentication of kube-apiserver's libraries does.
type Authenticator struct {
	trust     *Trust
	tokens    *tokens
	anonymous *anonymous
	outcomes  Outcomes
}

// NewAuthenticator returns an authenticator and starts no goroutine. With AnonymousAsUpstream, anonymous requests are
// refused until Run has probed the upstream.
func NewAuthenticator(c AuthenticatorConfig) *Authenticator {
	if c.SuccessTTL == 0 {
		c.SuccessTTL = defaultTTL
	}
	if c.FailureTTL == 0 {
		c.FailureTTL = defaultTTL
	}
	if c.Outcomes == nil {
		c.Outcomes = noOutcomes{}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Seats == nil {
		c.Seats = NewSeats()
	}
	c.Failures = c.Failures.withDefaults()
	return &Authenticator{
		trust: c.Trust, tokens: newTokens(c), outcomes: c.Outcomes,
		anonymous: newAnonymous(c.Anonymous, c.Probe, c.Log.Named("anonymous")),
	}
}

// Run keeps the trusted CA bundles, the keys of service account tokens and the treatment of anonymous requests up to
// date until the context ends.
func (a *Authenticator) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { a.anonymous.run(ctx) })
	if a.tokens.bound != nil {
		parts.Go(func() { a.tokens.bound.keys.run(ctx) })
	}
	if a.trust != nil {
		parts.Go(func() { a.trust.run(ctx) })
	}
	parts.Wait()
}

// Authenticate returns the caller of a request; requests of the same caller may share the value. For a request without
// credentials it returns the anonymous user, if anonymous requests are accepted. On success it removes Authorization
// and the headers of front proxies from the request. The caller's Way is the kind of credential that was used.
//
// It returns ErrUnauthenticated for credentials that identify no user, and an *UnavailableError if the upstream could
// not review them. It returns a *BusyError if the client must retry later. Any other error is the context's.
func (a *Authenticator) Authenticate(r *http.Request) (*Caller, error) {
	caller, err := a.review(r)
	if result, counts := resultOf(err); counts {
		a.outcomes.Attempted(result)
	}
	if err != nil {
		return nil, err
	}
	a.clear(r.Header)
	return caller, nil
}

// review tries each kind of credential until one is valid. A request with an invalid credential is never anonymous.
func (a *Authenticator) review(r *http.Request) (*Caller, error) {
	var worst error
	for _, way := range [...]func(*http.Request) (*Caller, error){a.byFrontProxy, a.byCertificate, a.byToken} {
		caller, err := way(r)
		if caller != nil {
			return caller, nil
		}
		worst = worse(worst, err)
	}
	if worst != nil {
		return nil, worst
	}
	return a.anonymous.authenticate()
}

func (a *Authenticator) byFrontProxy(r *http.Request) (*Caller, error) {
	if a.trust == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	return a.trust.current().byFrontProxy(r)
}

func (a *Authenticator) byCertificate(r *http.Request) (*Caller, error) {
	if a.trust == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	return a.trust.current().byCertificate(r)
}

func (a *Authenticator) byToken(r *http.Request) (*Caller, error) {
	if a.tokens.reviewer == nil {
		return nil, nil
	}
	return a.tokens.authenticate(r)
}

// standardHeaders are removed with or without a front proxy, as kube-apiserver's WithAuthentication does.
var standardHeaders = ProxyHeaders{
	Username: []string{"X-Remote-User"}, UID: []string{"X-Remote-Uid"},
	Group: []string{"X-Remote-Group"}, ExtraPrefix: []string{"X-Remote-Extra-"},
}

// clear removes Authorization and the headers of front proxies, so that later steps cannot use them.
func (a *Authenticator) clear(header http.Header) {
	header.Del("Authorization")
	standardHeaders.clear(header)
	if a.trust != nil {
		if proxies := a.trust.current().proxies; proxies != nil {
			proxies.headers.clear(header)
		}
	}
}

// worse returns the more severe of two errors, which the response reports. A transient error takes precedence over a
// refusal, because the credential that could not be checked may be valid.
func worse(a, b error) error {
	if weight(b) > weight(a) {
		return b
	}
	return a
}

func weight(err error) int {
	if err == nil {
		return 0
	}
	var unavailable *UnavailableError
	var busy *BusyError
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return 1
	case errors.As(err, &unavailable):
		return 2
	case errors.As(err, &busy):
		return 3
	default: // error of the request's context
		return 4
	}
}

// notAuthenticated wraps the reason of a library in ErrUnauthenticated. The reason must not contain a token.
func notAuthenticated(err error) error {
	if errors.Is(err, ErrUnauthenticated) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnauthenticated, err)
}
