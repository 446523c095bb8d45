package auth

import (
	"context"
	"net/netip"
	"runtime"

	"github.com/listfacade/listfacade/internal/limit"
)

// newVerificationSeats returns the seats of signature checks, one for each processor. Networks take turns for them, and
// so do the sources of a network.
func newVerificationSeats() *limit.Seats {
	processors := int64(runtime.GOMAXPROCS(0))
	return limit.NewSeats(limit.Bounds{One: processors, Group: processors, All: processors, Queue: maxSeatQueue,
		QueueAll: maxSeatQueueAll})
}

// expectsSignature reports whether a token names a key of the upstream, so that its signature is probably valid. It
// checks no signature, and returns false for a source that has used up its failures.
func (t *tokens) expectsSignature(token string, source netip.Prefix) bool {
	return t.bound != nil && !t.sources.usedUp(source) && t.bound.expects(token)
}

// examineSigned verifies a token that names a key of the upstream. Its source is charged only if the token must also be
// reviewed. Thousands of agents behind one address can therefore log in at the same time. A client behind the same
// address delays them only while it sends wrong signatures.
func (t *tokens) examineSigned(ctx context.Context, f *flight, key tokenKey, token string) {
	v, err := t.verifyInTurn(ctx, f.source, key, token)
	if err != nil {
		f.err = err
		return
	}
	end := t.bound.await(v)
	defer end()
	if t.bound.accepts(v) {
		t.accept(f, key, v)
		return
	}
	entered, err := t.enter(key, f.source)
	if err != nil {
		f.err = err
		return
	}
	t.examineUnverified(ctx, f, token, v, entered)
}

// verifyInTurn checks the signature of a token when it is the turn of the source. It returns a *BusyError if the wait
// for the turn exceeds seatWait, too many tokens wait, or the context ends.
func (t *tokens) verifyInTurn(ctx context.Context, source netip.Prefix, key tokenKey,
	token string) (*boundToken, error) {
	waiting, cancel := context.WithTimeout(ctx, seatWait)
	defer cancel()
	leave, err := t.verifications.Take(waiting, priorityOf(source), 1)
	if err != nil {
		return nil, &BusyError{After: retryAfter}
	}
	defer leave()
	return t.bound.verify(ctx, key, token), nil
}
