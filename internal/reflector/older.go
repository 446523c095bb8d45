package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/selectors"
)

// Outcomes of Older.
const (
	olderContinued = "continued"
	olderExpired   = "expired" // neither the lane nor the upstream has the events
	olderFailed    = "failed"
)

// Selection describes the objects that a watch selects, as parsed and authorized.
type Selection struct {
	Namespace string // of the path; empty for all namespaces
	Labels    labels.Selector
	Fields    fields.Selector
	Predicate *selectors.Predicate // compiled from the other fields, and restricted to shards
}

// Turn waits until a caller may cause a watch of the upstream. leave must be called at the end of that watch.
type Turn func(ctx context.Context) (leave func(), err error)

var errNotOlder = errors.New("cannot read events from before the lane's history")

// errManyOlder is the error if the events need too much memory, or too many objects have changed. A narrower selection
// may succeed.
var errManyOlder = fmt.Errorf("%w: the events need too much memory, or too many objects have changed", errNotOlder)

// olderAttempts is the maximum number of logs (olderLog) that one watch waits for. A log fails for all its watches if
// the upstream no longer has the events after the lowest of their versions.
const olderAttempts = 4

// Older returns the upstream's events above a resourceVersion that is older than the lane's history. The events are
// complete up to a version from which the lane continues (docs/adr/0037-older-watches.md). Watches share these events.
// If too many objects have changed, only watches with the same selection share events. The caller has to close the
// events.
//
// It returns *cache.ExpiredError with the upstream's oldest version if the upstream does not have the events. After any
// other error, it is unknown whether the upstream has them.
func (r *Reflector) Older(ctx context.Context, after cache.RV, s Selection, turn Turn) (*OlderEvents, error) {
	events, err := r.olderEvents(ctx, after, s, turn)
	outcome := olderContinued
	var expired *cache.ExpiredError
	switch {
	case errors.As(err, &expired):
		outcome = olderExpired
	case err != nil:
		outcome = olderFailed
	}
	if !errors.Is(err, errNotOlder) {
		r.metrics.BroughtForward(r.Resource.GVR.Group, r.Resource.GVR.Resource, outcome)
	}
	return events, err
}

func (r *Reflector) olderEvents(ctx context.Context, after cache.RV, s Selection, turn Turn) (*OlderEvents, error) {
	if err := r.mayBeOlder(after); err != nil {
		return nil, err
	}
	all := s
	all.Namespace, all.Labels, all.Fields = "", labels.Everything(), fields.Everything()
	events, err := r.eventsOf(ctx, after, all, turn)
	if s.Predicate.OnlyKeys() || err != nil && !errors.Is(err, errManyOlder) {
		return events, err
	}
	if err == nil {
		if err = r.resolve(ctx, events.log); err == nil {
			return events, nil
		}
		events.Close()
	}
	if ctx.Err() != nil {
		return nil, err
	}
	return r.eventsOf(ctx, after, s, turn)
}

func (r *Reflector) eventsOf(ctx context.Context, after cache.RV, s Selection, turn Turn) (*OlderEvents, error) {
	for range olderAttempts {
		if err := r.older.refusal(after); err != nil {
			return nil, err
		}
		log, err := r.olderLog(ctx, after, s, turn)
		if err != nil {
			return nil, err
		}
		err = log.await(ctx)
		if err == nil {
			return &OlderEvents{log: log, after: after, predicate: s.Predicate}, nil
		}
		log.leave()
		var expired *cache.ExpiredError
		if !errors.As(err, &expired) {
			return nil, err
		}
		if after < expired.Oldest {
			return nil, &cache.ExpiredError{Requested: after, Oldest: expired.Oldest}
		}
	}
	return nil, fmt.Errorf("%w: all attempts to read them failed", errNotOlder)
}

// mayBeOlder returns an error if the events above a version cannot come from the upstream.
func (r *Reflector) mayBeOlder(after cache.RV) error {
	oldest, ok := r.Cache.Oldest()
	switch {
	case !ok || after >= oldest:
		return fmt.Errorf("%w: resourceVersion %d is not before the lane's history", errNotOlder, after)
	case r.Resource.ReadFromEtcd():
		return fmt.Errorf("%w: watches of the resource receive no bookmarks", errNotOlder)
	case r.client.Silent() > 0:
		return fmt.Errorf("%w: the upstream does not respond", errNotOlder)
	case after < r.older.floor(): // worldNow checks this again, but a log that other watches share must not begin there
		return fmt.Errorf("%w: at resourceVersion %d, the cluster or the representation may have been different", errNotOlder, after)
	}
	return nil
}

// olderLog returns the log that a watch has to wait for. If there is none, it calls turn and then starts a log.
func (r *Reflector) olderLog(ctx context.Context, after cache.RV, s Selection, turn Turn) (*olderLog, error) {
	key := s.key()
	if log := r.older.join(key, after, r.Cache); log != nil {
		return log, nil
	}
	leave, err := turn(ctx)
	if err != nil {
		return nil, err
	}
	log, start := r.older.begin(key, after, r.Cache)
	if log == nil {
		leave()
		return nil, fmt.Errorf("%w: there is no memory for the events", errNotOlder)
	}
	if !log.hasTurn(leave) {
		leave() // another caller began the log in the meantime
	}
	if start && !r.Start(func(ctx context.Context) { r.readLogs(ctx, s, log) }) {
		for ended := log; ended != nil; {
			ended = r.older.finish(ended, ErrStopped)
		}
	}
	return log, nil
}

// key returns the key of the logs for the selection. Watches with equal keys can share a log.
func (s Selection) key() string {
	text := func(selector fmt.Stringer) string {
		if selector == nil {
			return ""
		}
		return selector.String()
	}
	return fmt.Sprintf("%q %q %q", s.Namespace, text(s.Labels), text(s.Fields))
}

// OlderEvents are the events of one watch that are before the lane's history.
type OlderEvents struct {
	log       *olderLog
	after     cache.RV
	predicate *selectors.Predicate
}

// UpTo returns the resourceVersion up to which the events are complete. The lane's events continue after it.
func (o *OlderEvents) UpTo() cache.RV { return o.log.upTo }

// Current reports whether the events still belong to the lane's epoch. Call Current after the watch of the lane was
// opened.
func (o *OlderEvents) Current(lane *cache.Lane) bool { return o.log.epoch == lane.Epochs() }

// All yields the events in order.
func (o *OlderEvents) All() iter.Seq[cache.Event] {
	return func(yield func(cache.Event) bool) {
		for i := range o.log.events {
			e := &o.log.events[i]
			if e.RV <= o.after {
				continue
			}
			if event, ok := o.log.of(e, o.predicate); ok && !yield(event) {
				return
			}
		}
	}
}

// Last returns the resourceVersion of the last event. Without events, it returns the version after which the watch
// begins.
func (o *OlderEvents) Last() cache.RV {
	last := o.after
	for event := range o.All() {
		last = event.RV
	}
	return last
}

// Close releases the memory of the events. It may be called more than once, but not concurrently.
func (o *OlderEvents) Close() {
	if o.log != nil {
		o.log.leave()
		o.log = nil
	}
}
