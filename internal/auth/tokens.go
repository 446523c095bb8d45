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
)

const (
	// maxTokens bounds the answers about tokens that are kept, and the tokens that are known to have been good.
	maxTokens = 65536
	// goodLasts is for how long after a token was good its review waits for no failures of others.
	goodLasts = 10 * time.Minute
)

// tokens says whom bearer tokens stand for, and remembers it by a keyed hash: no token is kept.
type tokens struct {
	reviewer               TokenReviewer
	audiences              []string
	successTTL, failureTTL time.Duration
	outcomes               Outcomes
	sources                *sources
	secret                 [sha256.Size]byte
	known                  *cache.LRUExpireCache // tokenKey to *Caller, nil for tokens that prove nobody
	good                   *cache.LRUExpireCache // tokenKey of tokens that proved somebody when last reviewed

	mu      sync.Mutex // guards flights
	flights map[tokenKey]*flight
}

// tokenKey is the HMAC-SHA256 of a token under the process's secret.
type tokenKey [sha256.Size]byte

// flight is one review and all who wait for it.
type flight struct {
	source netip.Prefix  // of the request that began it
	done   chan struct{} // closed when the rest is set
	caller *Caller
	err    error
}

func newTokens(c AuthenticatorConfig) *tokens {
	t := &tokens{
		reviewer: c.Tokens, audiences: c.Audiences, successTTL: c.SuccessTTL, failureTTL: c.FailureTTL, outcomes: c.Outcomes,
		sources: newSources(c.Failures), known: cache.NewLRUExpireCache(maxTokens), good: cache.NewLRUExpireCache(maxTokens),
		flights: map[tokenKey]*flight{},
	}
	_, _ = rand.Read(t.secret[:]) // never fails (crypto/rand)
	return t
}

// authenticate looks for a token where kube-apiserver does. The libraries remove one that proves somebody.
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
		protocolErr = notAuthenticated(protocolErr) // a subprotocol that holds no token
	}
	return protocol.caller, graver(err, protocolErr)
}

// attempt is one token of one request; it implements authenticator.Token.
type attempt struct {
	tokens *tokens
	source netip.Prefix // where it came from
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
	// What is no UTF-8 would be another token in a review, which is JSON.
	if len(token) > maxToken || !utf8.ValidString(token) {
		return nil, ErrUnauthenticated
	}
	key := t.key(token)
	if caller, ok := t.lookup(key); ok {
		return callerOrNobody(caller)
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
		// The other source did not have its turn in time, which says nothing of this one.
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

func callerOrNobody(caller *Caller) (*Caller, error) {
	if caller == nil {
		return nil, ErrUnauthenticated
	}
	return caller, nil
}

// join returns the review of the token that is under way, or begins one if the source may still have tokens reviewed.
// Joining costs the source nothing.
func (t *tokens) join(ctx context.Context, key tokenKey, token string, source netip.Prefix) (*flight, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flights[key]; f != nil {
		return f, nil
	}
	f := &flight{source: source, done: make(chan struct{})}
	if caller, ok := t.lookup(key); ok { // a review ended just now
		f.caller, f.err = callerOrNobody(caller)
		close(f.done)
		return f, nil
	}
	entered, err := t.enter(key, source)
	if err != nil {
		return nil, err
	}
	t.flights[key] = f
	// The review is for all who wait, so it does not end with the one who began it.
	go func(ctx context.Context) {
		defer close(f.done)
		if f.err = entered.wait(ctx); f.err == nil {
			t.fly(ctx, f, key, token)
			entered.settle(errors.Is(f.err, ErrUnauthenticated))
		}
		t.land(key)
	}(context.WithoutCancel(ctx))
	return f, nil
}

// enter lets a review in. That of a token which was good begins whatever else failed: a caller that has one cannot make
// up others, and it is one of its source's failures at most.
func (t *tokens) enter(key tokenKey, source netip.Prefix) (*entry, error) {
	if _, good := t.good.Get(key); good {
		return t.sources.pass(source), nil
	}
	return t.sources.enter(source)
}

// land forgets a flight that is over.
func (t *tokens) land(key tokenKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.flights, key)
}

// fly asks, and keeps what was answered.
func (t *tokens) fly(ctx context.Context, f *flight, key tokenKey, token string) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	began := time.Now()
	f.caller, f.err = t.review(ctx, token)
	result, _ := resultOf(f.err)
	t.outcomes.Reviewed(result, time.Since(began))
	switch {
	case f.err == nil:
		t.known.Add(key, f.caller, t.holds(f.caller))
		t.good.Add(key, nil, t.holds(f.caller)+goodLasts)
	case errors.Is(f.err, ErrUnauthenticated):
		t.known.Add(key, (*Caller)(nil), t.failureTTL)
		t.good.Remove(key)
	}
}

// holds is for how long a token is believed: not after its own end. One that the upstream accepted although it has
// ended by the facade's clock is as good as any.
func (t *tokens) holds(caller *Caller) time.Duration {
	if left := time.Until(caller.Until); left > 0 {
		return min(left, t.successTTL)
	}
	return t.successTTL
}
