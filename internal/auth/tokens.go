package auth

import (
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
	// maxTokens bounds the cached results of reviews, and the tokens that are known to have been valid.
	maxTokens = 65536
	// goodTokenTTL is how long a token that was valid skips the limits on failures after its cached result expires.
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
	secret                 [sha256.Size]byte
	known                  *cache.LRUExpireCache // tokenKey to *Caller; nil for invalid tokens
	good                   *cache.LRUExpireCache // tokenKey of tokens that were valid at their last review

	mu      sync.Mutex // guards flights
	flights map[tokenKey]*flight
}

// tokenKey is the HMAC-SHA256 of a token under a secret of the process.
type tokenKey [sha256.Size]byte

// flight is one review and its result, shared by all requests with the same token.
type flight struct {
	source netip.Prefix  // source of the request that started the review
	done   chan struct{} // closed when caller and err are set
	caller *Caller
	err    error
}

func newTokens(c AuthenticatorConfig) *tokens {
	t := &tokens{
		reviewer: c.Tokens, audiences: c.Audiences, successTTL: c.SuccessTTL, failureTTL: c.FailureTTL, outcomes: c.Outcomes,
		sources: newSources(c.Failures), seats: c.Seats, known: cache.NewLRUExpireCache(maxTokens), good: cache.NewLRUExpireCache(maxTokens),
		flights: map[tokenKey]*flight{},
	}
	_, _ = rand.Read(t.secret[:]) // never fails (crypto/rand)
	return t
}

// authenticate looks for a token where kube-apiserver does. The libraries remove a valid token from the request.
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

// AuthenticateToken implements authenticator.Token.
func (a *attempt) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	a.caller, a.err = a.tokens.caller(ctx, token, a.source)
	if a.err != nil {
		return nil, false, a.err
	}
	return &authenticator.Response{User: a.caller.Info}, true, nil
}

func (t *tokens) caller(ctx context.Context, token string, source netip.Prefix) (*Caller, error) {
	// A token that is not UTF-8 would be changed by JSON, so another token would be reviewed.
	if len(token) > maxToken || !utf8.ValidString(token) {
		return nil, ErrUnauthenticated
	}
	key := t.key(token)
	if caller, ok := t.lookup(key); ok {
		return callerOrError(caller)
	}
	for {
		f, err := t.join(ctx, key, token, source)
		if err != nil {
			return nil, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var busy *BusyError
		if f.source == source || !errors.As(f.err, &busy) {
			return f.caller, f.err
		}
		// The source that started the review got no seat in time. This does not apply to other sources.
	}
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

// join returns the review of the token that is under way, or starts one if the limits of the source allow it. Joining a
// review costs the source nothing.
func (t *tokens) join(ctx context.Context, key tokenKey, token string, source netip.Prefix) (*flight, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flights[key]; f != nil {
		return f, nil
	}
	f := &flight{source: source, done: make(chan struct{})}
	if caller, ok := t.lookup(key); ok { // a review has just ended
		f.caller, f.err = callerOrError(caller)
		close(f.done)
		return f, nil
	}
	entered, err := t.enter(key, source)
	if err != nil {
		return nil, err
	}
	t.flights[key] = f
	// The review is shared, so it must not end with the request that started it.
	go func(ctx context.Context) {
		defer close(f.done)
		if f.err = entered.wait(ctx); f.err == nil {
			t.runReview(ctx, f, key, token)
			entered.settle(errors.Is(f.err, ErrUnauthenticated))
		}
		t.forgetFlight(key)
	}(context.WithoutCancel(ctx))
	return f, nil
}

// enter admits a review. A token that was valid needs no seat: its owner cannot invent others like it, and it causes at
// most one failure.
func (t *tokens) enter(key tokenKey, source netip.Prefix) (*entry, error) {
	if _, good := t.good.Get(key); good {
		return t.sources.pass(source), nil
	}
	return t.sources.enter(source)
}

// forgetFlight removes a review that has ended.
func (t *tokens) forgetFlight(key tokenKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.flights, key)
}

// runReview reviews a token and caches the result.
func (t *tokens) runReview(ctx context.Context, f *flight, key tokenKey, token string) {
	f.caller, f.err = t.reviewInTurn(ctx, f.source, token)
	switch {
	case f.err == nil:
		t.known.Add(key, f.caller, t.ttl(f.caller))
		t.good.Add(key, nil, t.ttl(f.caller)+goodTokenTTL)
	case errors.Is(f.err, ErrUnauthenticated):
		t.known.Add(key, (*Caller)(nil), t.failureTTL)
		t.good.Remove(key)
	}
}

// reviewInTurn reviews a token when it is the turn of its source.
func (t *tokens) reviewInTurn(ctx context.Context, source netip.Prefix, token string) (*Caller, error) {
	waiting, cancel := context.WithTimeout(ctx, t.seats.wait())
	defer cancel()
	seat, err := t.seats.take(waiting, priorityOf(source), limit.InTurns)
	if err != nil {
		return nil, err
	}
	defer seat.leave()
	ctx, cancel = context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	began := time.Now()
	caller, err := t.review(ctx, token)
	took := time.Since(began)
	result, _ := resultOf(err)
	t.outcomes.Reviewed(result, took)
	seat.report(tokenReviewWork, took, err)
	return caller, err
}

// ttl returns how long a valid token is cached: at most until its expiry. If the token has expired by the facade's
// clock, but the upstream accepted it, the expiry is ignored.
func (t *tokens) ttl(caller *Caller) time.Duration {
	if left := time.Until(caller.Until); left > 0 {
		return min(left, t.successTTL)
	}
	return t.successTTL
}
