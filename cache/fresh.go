package cache

import (
	"context"
	"errors"
	"time"
)

// State returns the newest State that is complete at its RV (I10): what a read with resourceVersion "0" is answered
// from.
func (l *Lane) State() (*State, error) {
	if s := l.shown.Load(); s != nil {
		return s, nil
	}
	return nil, l.absence()
}

// Latest returns the State as Vouch may be told of it: State's, or one above it with as many of the deletions at its RV
// as have come. It is to be compared with what the upstream says, and never to be shown.
func (l *Lane) Latest() (*State, error) {
	shown, err := l.State()
	if written := l.state.Load(); err == nil && written != nil && written.rv > shown.rv {
		return written, nil
	}
	return shown, err
}

// Position returns the RV that the writers have brought the lane to. It is below the RV of State while the lane has not
// yet come to what was vouched for (Vouch), and above it while more deletions may be at it (Apply).
func (l *Lane) Position() (RV, error) {
	if s := l.state.Load(); s != nil {
		return s.rv, nil
	}
	return 0, l.absence()
}

// Complete returns the RV up to which the writers have brought the lane everything: below Position while more deletions
// may be at that.
func (l *Lane) Complete() (RV, error) {
	if s := l.state.Load(); s != nil {
		return s.whole(), nil
	}
	return 0, l.absence()
}

// WaitFor returns a State at or above rv, waiting up to wait for one: a NotOlderThan read. It fails with
// *TooLargeError when the lane does not get there in time (semantics 2.2), with ctx's error when ctx ends first.
func (l *Lane) WaitFor(ctx context.Context, rv RV, wait time.Duration) (*State, error) {
	if s, err := l.reached(rv); s != nil || wait <= 0 || !notYet(err) {
		return s, err
	}
	a := l.waiters.await(rv)
	defer l.waiters.leave(a)
	if s, err := l.reached(rv); s != nil || !notYet(err) { // published between the first look and await
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

// At returns the State at exactly rv, under that RV: an Exact read. It waits like WaitFor for an rv ahead of the lane,
// and fails with *ExpiredError for one below the window (I6).
func (l *Lane) At(ctx context.Context, rv RV, wait time.Duration) (*State, error) {
	s, err := l.WaitFor(ctx, rv, wait)
	if err != nil || s.rv == rv {
		return s, err
	}
	written := l.state.Load()
	switch {
	case written == nil || written.epoch != s.epoch:
		return nil, &ExpiredError{Requested: rv, Oldest: s.rv}
	case written.whole() < rv: // what was vouched for is above it, and says nothing about what lies between
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

// notYet reports whether the lane may still get to where it was asked for.
func notYet(err error) bool {
	var tooLarge *TooLargeError
	return errors.As(err, &tooLarge)
}
