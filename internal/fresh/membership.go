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
	// compareEvery is the interval between two comparisons of a resource with the shared store.
	compareEvery = time.Second
	// sharedWait is how long a reader waits for a shared response before it sends a request for its own resource. The
	// upstream may not respond to requests for the resource that the shared request reads.
	sharedWait = 2 * time.Second
)

// stores contains the store that lanes share. kube-apiserver's health checks show whether some resources are in another
// etcd, but not which ones. A lane, except the first (isFirst), joins if the health checks show only one etcd and two
// comparisons agree. A comparison agrees if the version from a probe of the lane's resource is between two versions of
// the shared store. The shared store must advance between the comparisons. A lane leaves at the first contradiction.
type stores struct {
	make     func(uncached Source) *store
	layout   *layout
	uncached Source // resource that a shared store probes; if nil, it probes the resources that are read

	mu     sync.Mutex // guards the rest
	shared *store
	avoid  time.Time // uncached is not used before this time, because it failed
}

// uncachedPause is how long a failed uncached source is not used. The source fails, for example, if the facade's user
// lacks permission. The first store that is made after the pause uses it again.
const uncachedPause = time.Minute

// get returns the current shared store. It replaces a broken store by a new one.
func (s *stores) get() *store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared != nil && !s.shared.isBroken() {
		return s.shared
	}
	now := time.Now()
	if s.shared != nil && s.shared.hasUncachedFailed() {
		s.avoid = now.Add(uncachedPause)
	}
	uncached := s.uncached
	if now.Before(s.avoid) {
		uncached = nil
	}
	s.shared = s.make(uncached)
	return s.shared
}

// interrupted records that a lane's watch ended. The account and the cached health checks may be out of date.
func (s *stores) interrupted() {
	s.mu.Lock()
	shared := s.shared
	s.mu.Unlock()
	if shared != nil {
		shared.account.reset()
	}
	s.layout.forget()
}

// membership is the assignment of a resource to a store.
type membership struct {
	source Source
	stores *stores
	own    *store // store of this resource only, so its versions are always comparable

	joined atomic.Pointer[store] // shared store; nil until comparisons agreed

	mu            sync.Mutex // guards the rest and writes of joined; not held during requests
	compared      *store     // store of the last comparison
	agreed        cache.RV   // shared store's version at the first agreement; 0 if there was none
	again         time.Time  // earliest time of the next comparison
	busy          bool       // whether a comparison is running
	interruptions int        // number of interruptions; a comparison has no effect if it changes meanwhile
}

// current returns the resource's resourceVersion at some moment after the call began. held is the lane's version before
// the call. A response of the shared store below held comes from another counter, or from a restored upstream. Only a
// probe by the own store can distinguish these causes.
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
			shared.breakUp() // so that no other reader waits for it
		} // if the shared request read another resource, its failure says nothing about this one
	}
	return m.own.current(ctx, m.source)
}

func (m *membership) askShared(ctx context.Context, shared *store, source Source) (reading, error) {
	ctx, cancel := context.WithTimeout(ctx, sharedWait)
	defer cancel()
	return shared.current(ctx, source)
}

// known returns the store that the resource has joined, or nil. The first resource joins an empty shared store without
// a comparison.
func (m *membership) known() *store {
	shared := m.stores.get()
	if m.joined.Load() == shared {
		return shared // the usual case, without the mutex
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined.Load() != shared {
		m.joined.Store(nil)
	}
	if m.joined.Load() == nil && shared.isFirst() {
		// The shared store has no resource to probe until a client reads one. With this resource, it can already be
		// compared with the stores of other resources.
		shared.propose(m.source)
		m.joined.Store(shared)
	}
	return m.joined.Load()
}

func (m *membership) store() *store {
	if shared := m.joined.Load(); shared != nil && !shared.isBroken() {
		return shared
	}
	return m.own
}

// seek starts a comparison with the shared store in the background if one is due.
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

// mayCompare marks a comparison as running and returns the store to compare with. It returns false if none may start.
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

// compare probes the shared store, the own store and the shared store again. It stops if the upstream throttles.
func (m *membership) compare(ctx context.Context, shared *store) {
	m.mu.Lock()
	interruptions := m.interruptions
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
	if isThrottled(beforeErr) { // the next request would be throttled, too
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
		shared.breakUp() // so that no other reader waits for it
	}
	agree := beforeErr == nil && err == nil && afterErr == nil && before.rv <= own.rv && own.rv <= after.rv
	m.rest(compareEvery)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.interruptions != interruptions:
	case !agree:
		m.agreed = 0
	case m.agreed == 0:
		m.agreed = after.rv
	case before.rv > m.agreed:
		m.joined.Store(shared)
	}
}

func (m *membership) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined.Store(nil)
	m.agreed = 0
	m.interruptions++
}

// rest ends a comparison, and allows the next one after a pause.
func (m *membership) rest(pause time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy, m.again = false, time.Now().Add(pause)
}
