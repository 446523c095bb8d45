package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/websocket"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// maxTokens bounds each cache of tokens: tokens.known, tokens.good and boundTokens.verified.
	maxTokens = 65536
	// goodTokenTTL is how long a valid token stays exempt from FailureLimits after its cached result expires.
	goodTokenTTL = 10 * time.Minute
)

// tokens authenticates bearer tokens and caches the results by a keyed hash. Tokens themselves are not stored.
type tokens struct {
	reviewer               TokenReviewer
	audiences              []string
	successTTL, failureTTL time.Duration
	outcomes               Outcomes
	sources                *sources
	seats                  *Seats
	verifications          *limit.Seats // for signature checks
	secret                 [sha256.Size]byte
	known                  *cache.LRUExpireCache // tokenKey to *Caller; nil for invalid tokens
	good                   *cache.LRUExpireCache // tokenKey of tokens that were valid when they were last examined
	bound                  *boundTokens          // nil if all tokens are reviewed
	refusals               *refusals

	mu      sync.Mutex // guards flights
	flights map[tokenKey]*flight
}

// tokenKey is the HMAC-SHA256 of a token under a secret of the process.
type tokenKey [sha256.Size]byte

// flight is one examination of a token and its result, shared by all requests with the same token.
type flight struct {
	source netip.Prefix  // source of the request that started it
	done   chan struct{} // closed when the fields below are set
	by     Means
	caller *Caller
	err    error
}

func newTokens(c AuthenticatorConfig) *tokens {
	t := &tokens{
		reviewer: c.Tokens, audiences: c.Audiences, successTTL: c.SuccessTTL, failureTTL: c.FailureTTL, outcomes: c.Outcomes,
		sources: newSources(c.Failures), seats: c.Seats, known: cache.NewLRUExpireCache(maxTokens),
		good: cache.NewLRUExpireCache(maxTokens), flights: map[tokenKey]*flight{}, verifications: newVerificationSeats(),
	}
	log := c.Log.Named("tokens")
	t.refusals, t.bound = &refusals{log: log}, newBoundTokens(c.Bound, log)
	_, _ = rand.Read(t.secret[:]) // never fails (crypto/rand)
	return t
}

// authenticate reads the token from the header Authorization or from the WebSocket subprotocol, as kube-apiserver does.
// The libraries remove a valid token from the request.
func (t *tokens) authenticate(r *http.Request) (*Caller, error) {
	source := sourceOf(r.RemoteAddr)
	header := &attempt{tokens: t, source: source}
	_, _, err := bearertoken.New(header).AuthenticateRequest(r)
	if header.caller != nil {
		return header.caller, nil
	}
	protocol := &attempt{tokens: t, source: source}
	_, _, protocolErr := websocket.NewProtocolAuthenticator(protocol).AuthenticateRequest(r)
	if protocolErr != nil && protocol.err == nil {
		protocolErr = notAuthenticated(protocolErr) // an invalid subprotocol; the error contains no token
	}
	return protocol.caller, worse(err, protocolErr)
}

// attempt is one token of one request. It implements authenticator.Token.
type attempt struct {
	tokens *tokens
	source netip.Prefix // source of the request
	caller *Caller
	err    error
}

func (a *attempt) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	a.caller, a.err = a.tokens.caller(ctx, token, a.source)
	if a.err != nil {
		return nil, false, a.err
	}
	return &authenticator.Response{User: a.caller.Info}, true, nil
}

func (t *tokens) caller(ctx context.Context, token string, source netip.Prefix) (*Caller, error) {
	caller, by, err := t.identify(ctx, token, source)
	if err == nil {
		t.outcomes.TokenAccepted(by)
	}
	return caller, err
}

func (t *tokens) identify(ctx context.Context, token string, source netip.Prefix) (*Caller, Means, error) {
	// A token that is not UTF-8 would be changed by JSON, so another token would be reviewed.
	if len(token) > maxToken || !utf8.ValidString(token) {
		return nil, "", ErrUnauthenticated
	}
	key := t.key(token)
	if caller, ok := t.lookup(key); ok {
		caller, err := callerOrError(caller)
		return caller, ByReview, err
	}
	if v := t.bound.accepted(key); v != nil {
		return t.again(ctx, token, v)
	}
	for {
		f, err := t.join(ctx, key, token, source)
		if err != nil {
			return nil, "", err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
		var busy *BusyError
		if f.source == source || !errors.As(f.err, &busy) {
			return f.caller, f.by, f.err
		}
		// The refusal concerns the source that started the review. This request tries again.
	}
}

// again returns the caller of a token that the facade has verified before. If an audience of the token must be
// confirmed (confirmEvery), it first reviews the token, and accepts the token if that review has no result.
func (t *tokens) again(ctx context.Context, token string, v *boundToken) (*Caller, Means, error) {
	if !t.bound.audiences.due(v.Audiences) {
		return v.caller, ByVerification, nil
	}
	ctx = context.WithoutCancel(ctx) // the review is due once, so a caller that leaves must not end it
	f := &flight{}
	seat, err := t.takeSeat(ctx, f.source)
	if err != nil {
		return v.caller, ByVerification, nil
	}
	t.runReview(ctx, seat, f, token, v)
	if f.err == nil || errors.Is(f.err, ErrUnauthenticated) {
		return f.caller, f.by, f.err
	}
	return v.caller, ByVerification, nil
}

func (t *tokens) key(token string) (key tokenKey) {
	mac := hmac.New(sha256.New, t.secret[:])
	mac.Write([]byte(token))
	mac.Sum(key[:0])
	return key
}

func (t *tokens) lookup(key tokenKey) (*Caller, bool) {
	known, ok := t.known.Get(key)
	if !ok {
		return nil, false
	}
	return known.(*Caller), true
}

func callerOrError(caller *Caller) (*Caller, error) {
	if caller == nil {
		return nil, ErrUnauthenticated
	}
	return caller, nil
}

// join returns the running examination of the token, or starts one if the limits of the source allow it.
// Joining an examination costs the source nothing.
func (t *tokens) join(ctx context.Context, key tokenKey, token string, source netip.Prefix) (*flight, error) {
	signed := t.expectsSignature(token, source)
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flights[key]; f != nil {
		return f, nil
	}
	f := &flight{source: source, done: make(chan struct{}), by: ByReview}
	if caller, ok := t.lookup(key); ok { // a review has just ended
		f.caller, f.err = callerOrError(caller)
		close(f.done)
		return f, nil
	}
	examine := t.examineSigned
	if !signed {
		entered, err := t.enter(key, source)
		if err != nil {
			return nil, err
		}
		examine = func(ctx context.Context, f *flight, key tokenKey, token string) {
			t.examine(ctx, f, key, token, entered)
		}
	}
	t.flights[key] = f
	// The review is shared, so it must not end with the request that started it.
	go func(ctx context.Context) {
		defer close(f.done)
		examine(ctx, f, key, token)
		t.forgetFlight(key)
	}(context.WithoutCancel(ctx))
	return f, nil
}

// examine verifies a token. If it cannot accept the token, it reviews the token when a seat is free. The caller has
// called enter, so the limits of the source also apply to verifications.
func (t *tokens) examine(ctx context.Context, f *flight, key tokenKey, token string, entered *entry) {
	v := t.bound.verify(ctx, key, token)
	end := t.bound.await(v)
	defer end()
	if t.bound.accepts(v) {
		entered.settle(false)
		t.accept(f, key, v)
		return
	}
	t.examineUnverified(ctx, f, token, v, entered)
}

// examineUnverified reviews a token when a seat is free, unless another review has made it acceptable meanwhile. v is
// nil for a token without a valid signature.
func (t *tokens) examineUnverified(ctx context.Context, f *flight, token string, v *boundToken, entered *entry) {
	if f.err = entered.wait(ctx); f.err != nil {
		return
	}
	seat, err := t.takeSeat(ctx, f.source)
	switch {
	case err != nil:
		f.err = err
	case t.bound.accepts(v): // another review has shown the audience
		seat.leave()
		t.accept(f, t.key(token), v)
	default:
		t.runReview(ctx, seat, f, token, v)
	}
	entered.settle(errors.Is(f.err, ErrUnauthenticated))
}

func (t *tokens) accept(f *flight, key tokenKey, v *boundToken) {
	f.caller, f.by = v.caller, ByVerification
	t.good.Add(key, nil, goodTokenTTL)
}

// enter admits a review. A token that was valid takes no seat of a failure budget: it causes at most one failure, and
// its owner cannot invent more such tokens.
func (t *tokens) enter(key tokenKey, source netip.Prefix) (*entry, error) {
	if _, good := t.good.Get(key); good {
		return t.sources.pass(source), nil
	}
	return t.sources.enter(source)
}

func (t *tokens) forgetFlight(key tokenKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.flights, key)
}

// runReview reviews a token, caches the result and returns the seat. v is nil for a token that the facade could not
// verify.
func (t *tokens) runReview(ctx context.Context, seat *seat, f *flight, token string, v *boundToken) {
	defer seat.leave()
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	began := time.Now()
	answer, err := t.review(ctx, token)
	took := time.Since(began)
	f.caller, f.by, f.err = answer.caller, ByReview, err
	t.bound.compare(v, answer, err)
	result, _ := resultOf(f.err)
	t.outcomes.Reviewed(result, took)
	seat.report(tokenReviewWork, took, err)
	key := t.key(token)
	switch {
	case f.err == nil:
		t.known.Add(key, f.caller, t.ttl(f.caller))
		t.good.Add(key, nil, t.ttl(f.caller)+goodTokenTTL)
	case errors.Is(f.err, ErrUnauthenticated):
		t.known.Add(key, (*Caller)(nil), t.failureTTL)
		t.good.Remove(key)
		if t.refusals.hasRoom(f.source) {
			t.refusals.note(refusal{f.source, printableRefusal(cmp.Or(answer.refusal, f.err.Error()), token)})
		}
	}
}

func (t *tokens) takeSeat(ctx context.Context, source netip.Prefix) (*seat, error) {
	ctx, cancel := context.WithTimeout(ctx, t.seats.wait())
	defer cancel()
	return t.seats.take(ctx, priorityOf(source), limit.InTurns)
}

// ttl returns how long a valid token is cached: at most until its expiry. If the token has expired by the facade's
// clock, but the upstream accepted it, the expiry is ignored.
func (t *tokens) ttl(caller *Caller) time.Duration {
	if left := time.Until(caller.Until); left > 0 {
		return min(left, t.successTTL)
	}
	return t.successTTL
}
