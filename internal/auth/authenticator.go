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

// AuthenticatorConfig says whose word counts. The zero values of durations, rates and Outcomes stand for the defaults.
type AuthenticatorConfig struct {
	// Trust is whose certificates count; nil for nobody's.
	Trust *Trust
	// Tokens is asked about bearer tokens; nil: they prove nobody.
	Tokens TokenReviewer
	// Audiences are those that a token must be meant for, one of them; none: the upstream's own.
	Audiences []string
	// SuccessTTL and FailureTTL are how long the answers of TokenReviews hold; 10 s each by default.
	SuccessTTL, FailureTTL time.Duration
	// Failures bounds the tokens that turn out to prove nobody, of one source and of all.
	Failures FailureLimits
	// Anonymous is what becomes of requests without credentials; the zero value is AnonymousOff. AnonymousAsUpstream
	// needs a Probe, a client that sends no credentials.
	Anonymous AnonymousMode
	Probe     Getter
	Outcomes  Outcomes
	Log       *zap.Logger
}

// FailureLimits are how many tokens a second may turn out to prove nobody, and how many at once. A source is an
// address, or 64 bits of one in IPv6.
type FailureLimits struct {
	Source, Total           rate.Limit // by default 10 a second, and ten times as many but 100 at least
	SourceBurst, TotalBurst int        // by default 50, and four times the total
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
	usualTTL = 10 * time.Second // as delegated authenticators of kube-apiserver keep theirs
	// maxToken is far more than tokens have; a longer one is not sent on.
	maxToken = 16 << 10
)

// Authenticator says who sends a request, as the delegated authentication of kube-apiserver's libraries does it.
type Authenticator struct {
	trust     *Trust
	tokens    *tokens
	anonymous *anonymous
	outcomes  Outcomes
}

// NewAuthenticator makes an authenticator and starts nothing. Until Run has asked, nobody is anonymous as the upstream
// has it.
func NewAuthenticator(c AuthenticatorConfig) *Authenticator {
	if c.SuccessTTL == 0 {
		c.SuccessTTL = usualTTL
	}
	if c.FailureTTL == 0 {
		c.FailureTTL = usualTTL
	}
	if c.Outcomes == nil {
		c.Outcomes = nobodyCounts{}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	c.Failures = c.Failures.withDefaults()
	return &Authenticator{
		trust: c.Trust, tokens: newTokens(c), outcomes: c.Outcomes,
		anonymous: newAnonymous(c.Anonymous, c.Probe, c.Log.Named("anonymous")),
	}
}

// Run keeps what is trusted, and whether the upstream lets the anonymous in, up to date until the context ends.
func (a *Authenticator) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { a.anonymous.run(ctx) })
	if a.trust != nil {
		parts.Go(func() { a.trust.run(ctx) })
	}
	parts.Wait()
}

// Authenticate returns the caller, who is shared by requests. Credentials that prove nobody are ErrUnauthenticated,
// also beside nothing else; none are the anonymous user's, if there is one. An *UnavailableError says that the upstream
// could not be asked, a *BusyError that the source of the request has to come back. If a caller
// is proven, the credentials are gone from the request's header afterwards; which one counted is the caller's Way.
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

// prove tries one way after the other. A credential that proves nobody does not keep another from proving somebody, but
// whoever sent one is not anonymous.
func (a *Authenticator) review(r *http.Request) (*Caller, error) {
	var worst error
	for _, way := range [...]func(*http.Request) (*Caller, error){a.byFrontProxy, a.byCertificate, a.byToken} {
		caller, err := way(r)
		if caller != nil {
			return caller, nil
		}
		worst = graver(worst, err)
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

// standardHeaders are deleted whether or not a front proxy is configured, as by kube-apiserver (WithAuthentication).
var standardHeaders = ProxyHeaders{
	Username: []string{"X-Remote-User"}, UID: []string{"X-Remote-Uid"},
	Group: []string{"X-Remote-Group"}, ExtraPrefix: []string{"X-Remote-Extra-"},
}

// clear deletes what was sent to prove somebody, so that nothing behind can take it for proof.
func (a *Authenticator) clear(header http.Header) {
	header.Del("Authorization")
	standardHeaders.clear(header)
	if a.trust != nil {
		if proxies := a.trust.current().proxies; proxies != nil {
			proxies.headers.clear(header)
		}
	}
}

// graver is the error that the caller is to hear of two: what may pass by itself goes before a refusal, because the
// other credential may have proven somebody.
func graver(a, b error) error {
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
	default: // the request's context
		return 4
	}
}

// unproven is ErrUnauthenticated with a reason that a library gave. It is for errors that hold no token.
func notAuthenticated(err error) error {
	if errors.Is(err, ErrUnauthenticated) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnauthenticated, err)
}
