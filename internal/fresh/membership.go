package fresh

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// compareEvery is how long lies between two comparisons of the same resource with the shared store.
	compareEvery = time.Second
	// sharedWait is how long one waits for a shared answer, which may be about a resource that the upstream does not
	// answer for, before one asks alone.
	sharedWait = 2 * time.Second
)

// stores is the store that lanes share. kube-apiserver may keep some resources in another etcd and does not say which,
// only whether. So a lane joins only when it says that there is no other, and when the lane's own version was found
// between two of the shared store's, and again when that had moved on. It leaves at the first contradiction.
type stores struct {
	make     func(uncached Source) *store
	layout   *layout
	uncached Source // what a shared store probes; nil: whatever is read

	mu     sync.Mutex // guards the rest
	shared *store
	avoid  time.Time // until when the uncached source is not asked, because it gave no answer
}

// uncachedPause is how long the uncached source is left alone at least when the upstream does not answer for it, as it
// may not for who has no right to read it; then the next store that breaks up is followed by one with it.
const uncachedPause = time.Minute

// get is the shared store of now; one that broke up is replaced by one without resources.
func (s *stores) get() *store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared != nil && !s.shared.isBroken() {
		return s.shared
	}
	now := time.Now()
	if s.shared != nil && s.shared.isDeserted() {
		s.avoid = now.Add(uncachedPause)
	}
	uncached := s.uncached
	if now.Before(s.avoid) {
		uncached = nil
	}
	s.shared = s.make(uncached)
	return s.shared
}

// interrupted says that somebody's watch broke off, or ended: what was heard, and what kube-apiserver said of its
// etcds, may be over.
func (s *stores) interrupted() {
	s.mu.Lock()
	shared := s.shared
	s.mu.Unlock()
	if shared != nil {
		shared.account.reset()
	}
	s.layout.forget()
}

// membership is which store a lane's resource is in, as far as it is known.
type membership struct {
	source Source
	stores *stores
	own    *store // probes of this resource alone: right whatever the store

	joined atomic.Pointer[store] // nil until comparisons agreed

	mu       sync.Mutex // guards the rest, and who writes joined; not held while the upstream is asked
	compared *store     // what the last comparison was with
	agreed   cache.RV   // the shared store's version when it agreed first; 0 when it has not
	again    time.Time  // when the next comparison may be made
	busy     bool       // a comparison is under way
	life     int        // counts interruptions: a comparison that one fell into says nothing
}

// current is the resource's resourceVersion at some moment after the call began. held is what the lane held then: an
// answer below it comes from another counter, or from an upstream that was set back, which only the own store can tell
// apart.
func (m *membership) current(ctx context.Context, held cache.RV) (reading, error) {
	if shared := m.known(); shared != nil {
		answer, err := m.askShared(ctx, shared, m.source)
		switch {
		case err == nil && answer.rv >= held && !shared.isBroken():
			return answer, nil
		case err == nil:
			shared.breakUp()
		case ctx.Err() != nil, answer.asked == m.source, isThrottled(err) && shared.uncached != nil:
			return reading{}, err
		case errors.Is(err, context.DeadlineExceeded):
			shared.breakUp() // so that nobody else waits for it
		} // what is wrong with another resource need not be wrong with this one
	}
	return m.own.current(ctx, m.source)
}

// askShared asks a store that answers for many, and so waits no longer than they may.
func (m *membership) askShared(ctx context.Context, shared *store, source Source) (reading, error) {
	ctx, cancel := context.WithTimeout(ctx, sharedWait)
	defer cancel()
	return shared.current(ctx, source)
}

// known is the store that the resource is known to be in. Somebody has to be in the shared one first.
func (m *membership) known() *store {
	shared := m.stores.get()
	if m.joined.Load() == shared {
		return shared // almost always, and without waiting for who compares
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined.Load() != shared {
		m.joined.Store(nil)
	}
	if m.joined.Load() == nil && shared.isFirst() {
		shared.propose(m.source) // others compare themselves with it before it is read
		m.joined.Store(shared)
	}
	return m.joined.Load()
}

// store is where the versions that the lane reads come from, as far as it is known.
func (m *membership) store() *store {
	if shared := m.joined.Load(); shared != nil && !shared.isBroken() {
		return shared
	}
	return m.own
}

// seek lets the resource be compared with the shared store in the background, when it is time.
func (m *membership) seek(start func(work func(context.Context)) bool) {
	if m.known() != nil {
		return
	}
	shared, ok := m.mayCompare()
	if !ok {
		return
	}
	started := start(func(ctx context.Context) { m.compare(ctx, shared) })
	if !started {
		m.rest(compareEvery)
	}
}

// mayCompare tells whether it is this caller's turn to compare, and with what.
func (m *membership) mayCompare() (*store, bool) {
	shared := m.stores.get()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy || m.joined.Load() != nil || time.Now().Before(m.again) {
		return nil, false
	}
	if m.compared != shared {
		m.compared, m.agreed = shared, 0
	}
	m.busy = true
	return shared, true
}

// compare asks the shared store, the own and the shared again. An upstream that throttles is not asked on.
func (m *membership) compare(ctx context.Context, shared *store) {
	m.mu.Lock()
	life := m.life
	m.mu.Unlock()
	switch one, err := m.stores.layout.oneEtcd(ctx); {
	case err != nil:
		m.rest(compareEvery)
		return
	case !one:
		m.rest(layoutAge)
		return
	}
	before, beforeErr := m.askShared(ctx, shared, nil)
	if isThrottled(beforeErr) { // and so would the next question be
		m.rest(compareEvery)
		return
	}
	own, err := m.own.current(ctx, m.source)
	after, afterErr := reading{}, beforeErr
	if beforeErr == nil && err == nil {
		after, afterErr = m.askShared(ctx, shared, nil)
	}
	slow := errors.Is(beforeErr, context.DeadlineExceeded) || errors.Is(afterErr, context.DeadlineExceeded)
	if slow && ctx.Err() == nil {
		shared.breakUp() // so that nobody else waits for it
	}
	agree := beforeErr == nil && err == nil && afterErr == nil && before.rv <= own.rv && own.rv <= after.rv
	m.rest(compareEvery)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.life != life:
	case !agree:
		m.agreed = 0
	case m.agreed == 0:
		m.agreed = after.rv
	case before.rv > m.agreed:
		m.joined.Store(shared)
	}
}

// leave makes the resource be compared anew.
func (m *membership) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined.Store(nil)
	m.agreed = 0
	m.life++
}

// rest ends a comparison; the next one may be made after a pause.
func (m *membership) rest(pause time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy, m.again = false, time.Now().Add(pause)
}
