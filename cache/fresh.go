package cache

import (
	"context"
	"errors"
	"time"
)

// State returns the newest State that is complete at its RV (I10), for reads with resourceVersion "0".
func (l *Lane) State() (*State, error) {
	if s := l.shown.Load(); s != nil {
		return s, nil
	}
	return nil, l.absence()
}

// Latest returns a State for Vouch: the State that readers see, or a newer written State, which may lack deletions at
// its RV. The caller compares this State with the upstream, and must never send it to a client.
func (l *Lane) Latest() (*State, error) {
	shown, err := l.State()
	if written := l.state.Load(); err == nil && written != nil && written.rv > shown.rv {
		return written, nil
	}
	return shown, err
}

// Position returns the RV of the last event or bookmark that the writers applied. Position is below the RV of State
// while events have not reached a vouched RV (Vouch). It is above the RV of State while more deletions may come at
// Position (Apply).
func (l *Lane) Position() (RV, error) {
	if s := l.state.Load(); s != nil {
		return s.rv, nil
	}
	return 0, l.absence()
}

// Complete returns the RV up to which the writers have applied every event. It is below Position while more deletions
// may come at Position.
func (l *Lane) Complete() (RV, error) {
	if s := l.state.Load(); s != nil {
		return s.whole(), nil
	}
	return 0, l.absence()
}

// WaitFor returns a State at or above rv for a NotOlderThan read. It returns *TooLargeError if the lane does not reach
// rv within the duration wait (semantics 2.2), and the cause of ctx if ctx ends first.
func (l *Lane) WaitFor(ctx context.Context, rv RV, wait time.Duration) (*State, error) {
	if s, err := l.reached(rv); s != nil || wait <= 0 || !notYet(err) {
		return s, err
	}
	a := l.waiters.await(rv)
	defer l.waiters.leave(a)
	if s, err := l.reached(rv); s != nil || !notYet(err) { // a State was published between the first check and await
		return s, err
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	select {
	case <-a.reached:
	case <-deadline.C:
	case <-l.closed:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return l.reached(rv)
}

// At returns the State at exactly rv, for an Exact read. It waits like WaitFor for an rv above the lane. It returns
// *ExpiredError for an rv below the window or inside a lost window (I6, I12).
func (l *Lane) At(ctx context.Context, rv RV, wait time.Duration) (*State, error) {
	s, err := l.WaitFor(ctx, rv, wait)
	if err != nil || s.rv == rv {
		return s, err
	}
	written := l.state.Load()
	switch {
	case written == nil || written.epoch != s.epoch:
		return nil, &ExpiredError{Requested: rv, Oldest: s.rv}
	case written.whole() < rv: // readers see a vouched State at a higher RV; the content between is unknown
		return nil, &TooLargeError{Requested: rv, Current: written.whole()}
	}
	past, err := written.epoch.history.before(rv)
	if err != nil {
		return nil, err
	}
	return past.at(rv), nil
}

func (l *Lane) reached(rv RV) (*State, error) {
	s, err := l.State()
	if err == nil && s.rv < rv {
		return nil, &TooLargeError{Requested: rv, Current: s.rv}
	}
	return s, err
}

func notYet(err error) bool {
	var tooLarge *TooLargeError
	return errors.As(err, &tooLarge)
}
