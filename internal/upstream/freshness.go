package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/selectors"
)

// ErrUnproven says that the lane could not be shown to hold everything up to the wanted resourceVersion.
var ErrUnproven = errors.New("the cache could not be proven fresh")

// Patience is how much a caller invests in a proof.
type Patience int

const (
	// Brief waits for what is already under way: for a caller who can have the upstream answer instead.
	Brief Patience = iota
	// Full opens a fence, a second watch that brings a quiet lane up to date in about a second (semantics 10.3).
	Full
)

const (
	// nowhere is a name that no object has; it need not be a valid name, only a valid path segment.
	nowhere = "listfacade.probe"
	// grace is how long an event that is on its way may take: the upstream's dispatch and one loopback hop are under 5 ms.
	grace = 20 * time.Millisecond
	// fenceSeconds is the shortest watch that kube-apiserver sends a bookmark on: it is due 2 s before the end (semantics 10.3).
	fenceSeconds = 3
	probeWait    = 10 * time.Second
)

// freshness proves for one lane what the upstream's current resourceVersion is and that the lane has reached it
// (semantics 10.5). Probes and fences are shared by all who wait.
type freshness struct {
	lane   *Lane
	client *Client

	mu    sync.Mutex // guards next and fence
	next  *probe     // the probe that the next caller may join: not sent yet
	fence *fence     // the fence under way
	turn  chan struct{}
}

type probe struct {
	done chan struct{}
	rv   cache.RV
	err  error
}

type fence struct {
	done chan struct{}
}

func newFreshness(lane *Lane, client *Client) *freshness {
	return &freshness{lane: lane, client: client, turn: make(chan struct{}, 1)}
}

func (f *freshness) recent(ctx context.Context, patience Patience) (cache.RV, error) {
	rv, err := f.current(ctx)
	if err != nil {
		return 0, err
	}
	return rv, f.bring(ctx, rv, patience)
}

func (f *freshness) reach(ctx context.Context, want cache.RV, patience Patience) error {
	if f.lane.at(want) {
		return nil
	}
	rv, err := f.current(ctx)
	if err != nil {
		return err
	}
	if rv < want {
		return ErrUnproven // the upstream has not been there either: only time can bring it
	}
	return f.bring(ctx, want, patience)
}

// at tells whether the lane is complete up to rv.
func (l *Lane) at(rv cache.RV) bool {
	state, err := l.Cache.State()
	return err == nil && state.RV() >= rv
}

// bring waits until the lane has reached rv, by an event that is on its way or by a fence.
func (f *freshness) bring(ctx context.Context, rv cache.RV, patience Patience) error {
	if f.lane.at(rv) {
		return nil
	}
	if _, err := f.lane.Cache.WaitFor(ctx, rv, grace); err == nil {
		return nil
	}
	if patience == Brief || f.lane.Uncached() {
		return ErrUnproven // an uncached resource has no bookmarks, so nothing about it can be proven
	}
	for attempt := 0; attempt < 2; attempt++ {
		select {
		case <-f.join(rv):
		case <-ctx.Done():
			return ctx.Err()
		}
		if f.lane.at(rv) {
			return nil
		}
	}
	return ErrUnproven
}

// current asks the upstream for its resourceVersion. The question is sent after the call began, and everybody who calls
// until it is sent shares the answer (group commit): a thousand readers cost one question at a time.
func (f *freshness) current(ctx context.Context) (cache.RV, error) {
	f.mu.Lock()
	p := f.next
	if p == nil {
		p = &probe{done: make(chan struct{})}
		if !f.lane.start(func() { f.ask(f.lane.life, p) }) {
			f.mu.Unlock()
			return 0, ErrStopped
		}
		f.next = p
	}
	f.mu.Unlock()
	select {
	case <-p.done:
		return p.rv, p.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// ask waits for its turn, closes the probe to newcomers, and sends it.
func (f *freshness) ask(ctx context.Context, p *probe) {
	defer close(p.done)
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		p.err = ErrStopped
	}
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	if p.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	p.rv, p.err = f.question(ctx)
	if p.err != nil {
		p.err = fmt.Errorf("ask the upstream for its resourceVersion: %w", p.err)
	}
}

// question reads the upstream's resourceVersion. It is never below what the upstream sent before the question.
func (f *freshness) question(ctx context.Context) (cache.RV, error) {
	before, err := f.lane.Cache.State()
	if err != nil {
		return 0, err
	}
	body, err := f.client.read(ctx, probeTarget(f.lane.Resource), mediaJSON, maxErrorBody)
	if err != nil {
		return 0, err
	}
	rv, err := listVersion(body)
	if err == nil && rv < before.RV() {
		f.lane.reader.setBack()
		err = errRestored
	}
	return rv, err
}

// probeTarget is the cheapest quorum read that kube-apiserver offers: one key that does not exist (semantics 10.4).
func probeTarget(r Resource) target {
	namespace := ""
	if r.Scope == selectors.Namespaced {
		namespace = "default"
	}
	return target{
		path:  collectionPath(r.GVR, namespace),
		query: url.Values{"fieldSelector": {"metadata.name=" + nowhere}, "limit": {"1"}},
	}
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

// guard runs one fence: a short watch from where the lane is. It replays what the lane misses and brings a bookmark,
// which proves that everything before it was sent (semantics 10.1). An error only means that nothing was proven.
func (f *freshness) guard(ctx context.Context, own *fence) {
	defer close(own.done)
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.fence = nil
	}()
	ctx, cancel := context.WithTimeout(ctx, (fenceSeconds+1)*time.Second)
	defer cancel()
	f.lane.reader.fence(ctx)
}

func watchQuery(rv cache.RV) url.Values {
	return url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "includeObject": {"Object"}, "resourceVersion": {rv.String()},
	}
}
