package reflector

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

const (
	// maxUnknown is the maximum number of objects that are read as they were before a log. If there are more, each
	// selection gets its own log, and the upstream selects the events.
	maxUnknown = 2000
	// unknownSeats is the number of objects read at the same time. Each request reads one object in about a millisecond.
	unknownSeats = 8
	// objectLimit is the maximum size of a response with one object, in bytes. etcd stores objects of up to 1.5 MiB.
	objectLimit = 16 << 20
)

// olderEvent is an event of a log. The object before the event decides whether, and with which type, a watch with a
// selector receives the event (I7 in cache/doc.go).
type olderEvent struct {
	cache.Event
	before  *cache.Object // object before the event; nil if there was none
	unknown bool          // whether the previous object is in befores instead
}

// befores contains objects as they were before the log. It has each object whose first event in the log is MODIFIED.
// The objects are read when a watch with a selector needs them.
type befores struct {
	begun    bool // guarded by olderStore.mu
	resolved chan struct{}

	// Set before resolved is closed:
	objects map[string]*cache.Object
	err     error
}

// resolve waits until the log's befores are read. It starts to read them if no other watch has done so.
func (r *Reflector) resolve(ctx context.Context, log *olderLog) error {
	if len(log.unknown) == 0 {
		return nil
	}
	resolve := func(ctx context.Context) { r.older.resolve(log, r.readBefores(ctx, log)) }
	if r.older.beginsResolve(log) && !r.Start(resolve) {
		r.older.resolve(log, ErrStopped)
	}
	select {
	case <-log.befores.resolved:
		return log.befores.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginsResolve reports whether the caller has to read befores. It then counts the caller as a user of the log.
func (s *olderStore) beginsResolve(log *olderLog) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if log.befores.begun {
		return false
	}
	log.befores.begun = true
	log.users++
	return true
}

// resolve ends the read of befores, with an error or nil. It also ends the use that beginsResolve counted.
func (s *olderStore) resolve(log *olderLog, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log.befores.err = err
	close(log.befores.resolved)
	log.release()
}

// readBefores reads each unknown object at the version where the log begins. kube-apiserver can read an object at an
// exact version until etcd compacts that version. A lane reads befores for one log at a time, because a caller with
// ever lower versions can cause one log after the other.
func (r *Reflector) readBefores(ctx context.Context, log *olderLog) error {
	if len(log.unknown) > maxUnknown {
		return errManyOlder
	}
	ctx, cancel := context.WithTimeout(ctx, olderWait)
	defer cancel()
	select {
	case r.older.resolves <- struct{}{}:
		defer func() { <-r.older.resolves }()
	case <-ctx.Done():
		return ctx.Err()
	}
	world, err := r.worldNow(ctx, log.after)
	if err != nil {
		return err
	}
	opened := time.Now()
	if err := log.readAll(ctx, world.listWatch); err != nil {
		return err
	}
	return world.isStill(ctx, r, opened)
}

func (l *olderLog) readAll(ctx context.Context, from *listWatch) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		reading sync.WaitGroup
		mu      sync.Mutex // guards the objects and the memory of the log
	)
	next := make(chan *cache.Object)
	for range unknownSeats {
		reading.Go(func() {
			for o := range next {
				before, err := from.at(ctx, o, l.after)
				mu.Lock()
				if err == nil && !l.take(int64(before.Size())) {
					err = errManyOlder
				}
				l.befores.objects[o.Key()] = before
				mu.Unlock()
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, o := range l.unknown {
		next <- o
	}
	close(next)
	reading.Wait()
	return context.Cause(ctx)
}

func (l *listWatch) at(ctx context.Context, o *cache.Object, rv cache.RV) (*cache.Object, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	named := fields.OneTermEqualSelector("metadata.name", o.Name()) // escapes the name
	query := url.Values{"fieldSelector": {named.String()}, "resourceVersion": {rv.String()},
		"resourceVersionMatch": {"Exact"}}
	body, err := l.client.Get(ctx, l.target(l.resource.Path(o.Namespace()), query), l.ask.Accept, objectLimit)
	if err != nil {
		return nil, err
	}
	var found *cache.Object
	if _, err = l.reader.List(body, func(item wire.Item, facts wire.Facts) (err error) {
		found, err = l.newObject(item, &facts)
		return err
	}); err != nil {
		return nil, fmt.Errorf("read an object at resourceVersion %d: %w", rv, err)
	}
	if found == nil || found.Key() != o.Key() || found.RV > rv {
		return nil, fmt.Errorf("%w: the upstream has no %s at resourceVersion %d", errNotOlder, o.Key(), rv)
	}
	return found, nil
}

// of(e, p) returns the event e as a watch with the predicate p receives it, or false if the watch does not receive e.
func (l *olderLog) of(e *olderEvent, p *selectors.Predicate) (cache.Event, bool) {
	if l.key != everything || p.OnlyKeys() { // the upstream has chosen the event's type
		return e.Event, p.Matches(&e.Object.Attributes)
	}
	before := e.before
	if e.unknown {
		before = l.befores.objects[e.Object.Key()]
	}
	return e.SelectedBy(p, before, l.shape)
}
