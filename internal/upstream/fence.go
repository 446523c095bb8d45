package upstream

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

const (
	// fenceSeconds is the shortest watch that kube-apiserver sends a bookmark on: it is due 2 s before the end (semantics 10.3).
	fenceSeconds = 3
	// fenceWait is how long a fence may take: a bookmark comes after up to 2.25 s, and may be of just before.
	fenceWait = 4 * time.Second
	// fencePause is how long no fence is opened after one that brought nothing: an upstream may know no bookmarks at all.
	fencePause = 10 * time.Second
	// patrolEvery is how far fences are apart: kube-apiserver looks for due bookmarks once a second.
	patrolEvery = time.Second
	// patrolFor is how long fences are opened after one was wanted: who lists a large resource does it again.
	patrolFor = 10 * time.Second
)

// patrol opens fences one after the other while they are wanted, so that a bookmark is due whenever kube-apiserver looks: a
// reader waits half a second for it, where a fence of its own would take one.
type patrol struct {
	mu      sync.Mutex // guards the rest
	wanted  time.Time
	walking bool
}

// want keeps the lane's patrol walking; false when the lane is stopping.
func (f *freshness) want() bool {
	p := &f.patrol
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = time.Now()
	if !p.walking {
		p.walking = f.lane.start(func() { f.walk(f.lane.life) })
	}
	return p.walking
}

// goesOn tells whether the patrol is still wanted; when it is not, it is over.
func (p *patrol) goesOn(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.walking = ctx.Err() == nil && time.Since(p.wanted) < patrolFor
	return p.walking
}

func (f *freshness) walk(ctx context.Context) {
	var fences sync.WaitGroup
	defer fences.Wait()
	tick := time.NewTicker(patrolEvery)
	defer tick.Stop()
	for f.patrol.goesOn(ctx) {
		fences.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, fenceWait)
			defer cancel()
			f.metrics.Questioned("fence")
			f.lane.reader.fence(ctx)
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// bring makes the lane reach rv by a fence. Meanwhile this very resource is probed: kube-apiserver brings its cache up to date for
// that, and its bookmark would lie below what is wanted otherwise (semantics 10.2).
func (f *freshness) bring(ctx context.Context, rv cache.RV) error {
	if f.lane.Resource.ReadFromEtcd() || time.Now().UnixNano() < f.silent.Load() {
		return ErrUnproven // without bookmarks a fence would prove nothing
	}
	if !f.want() {
		return ErrStopped
	}
	probing, cancel := context.WithTimeout(ctx, fenceWait)
	defer cancel()
	_, _ = f.membership.own.current(probing, f.membership.resource) // if it fails the bookmark proves less, and is looked at
	if _, err := f.lane.Cache.WaitFor(ctx, rv, fenceWait); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.silent.Store(time.Now().Add(fencePause).UnixNano())
	return ErrUnproven
}

// fence reads a short watch from where the lane is until a bookmark and hands its steps to the writer. It replays what the lane
// misses, and the bookmark proves that everything before it was sent (semantics 10.1). It returns when the writer has taken the
// steps, or when the context ends. An error only means that nothing was proven.
func (r *reader) fence(ctx context.Context) {
	rv, err := r.lane.Cache.Position()
	if err != nil {
		return
	}
	s, err := r.dialect.Load().watch(ctx, watchQuery(rv), fenceSeconds)
	if err != nil {
		return
	}
	defer s.close()
	for {
		st, err := s.next()
		if err != nil {
			return
		}
		proven := st.kind != stepChange
		st.frame = wire.Frame{}
		select {
		case r.extra <- st:
		case <-ctx.Done():
			return
		}
		if proven {
			return
		}
	}
}

func watchQuery(rv cache.RV) url.Values {
	return url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "includeObject": {"Object"}, "resourceVersion": {rv.String()},
	}
}
