package reflector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
)

const (
	// olderWait is the maximum time in which a log is read.
	olderWait = 15 * time.Second
	// olderRounds is the maximum number of successive watches that bring neither an event nor a bookmark.
	olderRounds = 3
)

func (r *Reflector) readLogs(ctx context.Context, s Selection, log *olderLog) {
	for log != nil {
		log = r.older.finish(log, r.readLog(ctx, s, log))
	}
}

// readLog reads the events of a log from the upstream, until the lane's history continues them. Its watches have the
// shortest timeout with which kube-apiserver sends a bookmark (semantics 10.3). The bookmark shows that no event is
// missing (semantics 10.1).
func (r *Reflector) readLog(ctx context.Context, s Selection, log *olderLog) error {
	ctx, cancel := context.WithTimeout(ctx, olderWait)
	defer cancel()
	world, err := r.worldNow(ctx, log.after)
	if err != nil {
		return err
	}
	opened := time.Now()
	log.epoch, log.shape, log.upTo = world.epoch, world.state.Shape(), log.after
	for round := 0; !r.Cache.Continues(log.upTo); round++ {
		if round == olderRounds {
			return fmt.Errorf("%w: the upstream sends no bookmark", errNotOlder)
		}
		if round > 0 { // brings kube-apiserver's cache up to date, which raises the version of the next bookmark
			_, _ = source{client: r.client, resource: r.Resource}.ResourceVersion(ctx)
		}
		before := log.upTo
		if err := r.readRound(ctx, s, log, &world); err != nil {
			return expiredAt(err, log.after)
		}
		if log.upTo > before {
			round = 0
		}
	}
	return world.isStill(ctx, r, opened)
}

// readRound reads one watch of the upstream into a log. It returns nil if the watch ended without an error, or the
// lane's history continues the log.
func (r *Reflector) readRound(ctx context.Context, s Selection, log *olderLog, world *epochWorld) error {
	stream, err := world.listWatch.watchAt(ctx, r.Resource.Path(s.Namespace), s.query(log.upTo), progressWatchSeconds)
	if err != nil {
		return err
	}
	defer stream.close()
	stream.last = log.upTo
	for !r.Cache.Continues(log.upTo) {
		st, err := stream.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case world.state.Shape().Reprinted(st.columns):
			return errReprinted
		case st.kind == stepChange:
			if err := log.add(st); err != nil {
				return err
			}
		}
		log.upTo = st.rv
	}
	return nil
}

func (s Selection) query(after cache.RV) url.Values {
	query := watchQuery(after)
	if s.Labels != nil && !s.Labels.Empty() {
		query.Set("labelSelector", s.Labels.String())
	}
	if s.Fields != nil && !s.Fields.Empty() {
		query.Set("fieldSelector", s.Fields.String())
	}
	return query
}

// add appends an event of the upstream. Two events at one version are an error: they come from a facade that replays a
// lost window, whose events differ from kube-apiserver's.
func (l *olderLog) add(st step) error {
	if st.rv <= l.upTo {
		return fmt.Errorf("%w: the event at %d is not newer than the previous one", errNotOlder, st.rv)
	}
	if !l.take(int64(st.change.Object.Size())) {
		return errManyOlder
	}
	o := st.change.Object
	before, known := l.last[o.Key()]
	event := olderEvent{Event: cache.Event{Type: cache.Modified, Object: o, RV: st.rv}, before: before}
	l.last[o.Key()] = o
	switch {
	case st.change.Kind == cache.Delete:
		event.Type, l.last[o.Key()] = cache.Deleted, nil
		if !known {
			event.before = o // a deletion has the last content
		}
	case st.added:
		event.Type = cache.Added
	case !known:
		event.unknown = true
		l.unknown = append(l.unknown, o)
	}
	l.events = append(l.events, event)
	return nil
}

// expiredAt returns *cache.ExpiredError if err is the 410 of kube-apiserver's watch cache for the requested version
// (semantics 4.1). It returns any other error unchanged.
func expiredAt(err error, after cache.RV) error {
	var refused *upstream.StatusError
	if !errors.As(err, &refused) || refused.Code != http.StatusGone {
		return err
	}
	var status metav1.Status
	expired := cache.ExpiredError{}
	if json.Unmarshal(refused.Body, &status) != nil {
		return err
	}
	if _, scan := fmt.Sscanf(status.Message, "too old resource version: %d (%d)", &expired.Requested,
		&expired.Oldest); scan != nil || expired.Requested != after || expired.Oldest <= after {
		return err
	}
	return &expired
}
