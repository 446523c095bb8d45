package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
)

// startOlder starts a watch from before the lane's history, with events that the upstream still has
// (docs/adr/0037-older-watches.md). expired is the lane's error for the watch. startOlder returns expired if it cannot
// read the events. If the upstream no longer has the events either, the error names the upstream's oldest version.
func (s *Server) startOlder(ctx context.Context, q *Request, lane Lane, expired error) (watchStart, error) {
	var lost *cache.ExpiredError
	if !errors.As(expired, &lost) {
		return watchStart{}, expired
	}
	defer q.Event.Waited(observe.Asking, q.Event.Waiting(observe.Asking))
	waiting, cancel := context.WithTimeout(ctx, min(s.limiter.patience(ctx, q), s.watchLife(q)))
	defer cancel()
	selection := reflector.Selection{Namespace: q.Namespace, Labels: q.Options.LabelSelector,
		Fields: q.Options.FieldSelector, Predicate: q.Predicate}
	events, err := lane.Older(waiting, lost.Requested, selection, s.limiter.olderTurn(q))
	var refused *cache.ExpiredError
	switch {
	case errors.As(err, &refused):
		return watchStart{}, refused
	case ctx.Err() != nil:
		return watchStart{}, ctx.Err()
	case err != nil:
		return watchStart{}, expired
	}
	watcher, err := lane.Store().Watch(cache.WatchOptions{Predicate: q.Predicate, Start: cache.AfterRV(events.UpTo()),
		Exact: q.fromFacade()})
	if err == nil && !events.Current(lane.Store()) {
		watcher.Close()
		err = expired
	}
	if err != nil {
		events.Close()
		if inStream(err) {
			err = expired // err has the version of the older events, and expired has the client's version
		}
		return watchStart{}, err
	}
	q.Event.LaneRV = uint64(events.UpTo())
	return watchStart{watcher: watcher, older: events, floor: events.Last()}, nil
}

func (l *limiter) olderTurn(q *Request) reflector.Turn {
	return func(ctx context.Context) (leave func(), err error) {
		return l.older.Take(ctx, limit.Key{Group: q.resourceName(), One: q.Caller.Share()}, 1)
	}
}

// olderSendWait is how long a client may take to receive the events from before the lane's history, because they take
// memory. After this time the watch ends, and the client resumes it after the last event that it received.
const olderSendWait = time.Minute

// older has the events from before the lane's history that a stream still has to send.
type older struct {
	events *reflector.OlderEvents // nil if there are none
	began  time.Time
}

// send sends the events. It returns false if the client does not receive them within olderSendWait.
func (o *older) send(to *events) (complete bool, err error) {
	if o.events == nil {
		return true, nil
	}
	defer o.close()
	for event := range o.events.All() {
		if time.Since(o.began) > olderSendWait {
			return false, to.flush()
		}
		to.sent++
		to.write(event.Type.String(), event.Object)
		if err := to.flushFull(); err != nil {
			return false, err
		}
	}
	return true, to.flush()
}

func (o *older) close() {
	if o.events != nil {
		o.events.Close()
		o.events = nil
	}
}
