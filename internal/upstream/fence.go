package upstream

import (
	"context"
	"net/url"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

// fenceSeconds is the shortest watch that kube-apiserver sends a bookmark on: it is due 2 s before the end (semantics 10.3).
const fenceSeconds = 3

// fence is a short watch from where the lane is. It replays what the lane misses and brings a bookmark, which proves that
// everything before it was sent (semantics 10.1). All who wait for the lane share it.
type fence struct {
	done chan struct{}
}

// join returns a channel that is closed when the fence under way, or a new one, has ended. None is opened for a lane that is
// at rv already, as the last one may just have brought it there.
func (f *freshness) join(rv cache.RV) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fence == nil {
		own := &fence{done: make(chan struct{})}
		if f.lane.at(rv) || !f.lane.start(func() { f.guard(f.lane.life, own) }) {
			close(own.done)
			return own.done
		}
		f.fence = own
	}
	return f.fence.done
}

// guard runs one fence. An error only means that nothing was proven. Meanwhile it probes this very resource: kube-apiserver brings
// its cache up to date for that, and its bookmark, a second later, would lie below what is wanted otherwise (semantics 10.2).
func (f *freshness) guard(ctx context.Context, own *fence) {
	defer close(own.done)
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.fence = nil
	}()
	ctx, cancel := context.WithTimeout(ctx, (fenceSeconds+1)*time.Second)
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		_, _ = f.membership.own.current(ctx, f.membership.resource) // without it the bookmark proves less, and is looked at
	}()
	defer func() { cancel(); <-probed }()
	f.metrics.Questioned("fence")
	if !f.lane.reader.fence(ctx) && f.lane.life.Err() == nil {
		f.silent.Store(time.Now().Add(fencePause).UnixNano())
	}
}

// fencePause is how long no fence is opened after one that brought no bookmark: an upstream may know none at all.
const fencePause = 10 * time.Second

// fence reads a short watch from where the lane is until a bookmark and hands its steps to the writer. It returns when the
// writer has taken them, or when the context ends, and tells whether there was a bookmark.
func (r *reader) fence(ctx context.Context) bool {
	rv, err := r.lane.Cache.Position()
	if err != nil {
		return false
	}
	s, err := r.dialect.Load().watch(ctx, watchQuery(rv), fenceSeconds)
	if err != nil {
		return false
	}
	defer s.close()
	for {
		st, err := s.next()
		if err != nil {
			return false
		}
		proven := st.kind != stepChange
		st.frame = wire.Frame{}
		select {
		case r.extra <- st:
		case <-ctx.Done():
			return false
		}
		if proven {
			_, _ = r.lane.Cache.WaitFor(ctx, st.rv, time.Second) // the writer is about to apply it
			return true
		}
	}
}

func watchQuery(rv cache.RV) url.Values {
	return url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "includeObject": {"Object"}, "resourceVersion": {rv.String()},
	}
}
