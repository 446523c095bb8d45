package handlers

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/reflector"
)

// watch prepares a stream of events (semantics 4). out.rest then writes the stream.
func (s *Server) watch(ctx context.Context, out *reply, q *Request, lane Lane) (route, error) {
	before := len(out.ends)
	defer func() {
		if out.rest == nil { // without a stream, as for a forwarded request, everything is released
			out.leaveTo(before)
		}
	}()
	authorization := s.authorization.authorizer.AuthorizeWatch(q.Attributes)
	out.atEnd(authorization.Release)
	life := s.watchLife(q)
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	out.atEnd(cancel)
	out.atEnd(s.termination.follow(cancel))
	if life < 0 {
		return route{}, out.nothing(ctx, q) // a watch that ends before it begins is not an error
	}
	sent, err := s.limiter.chargeInitial(ctx, out, q, lane)
	if err != nil {
		return s.orDraining(ctx, route{}, err)
	}
	out.atEnd(sent)
	// The wait for a version may exceed a short lifetime, as in kube-apiserver.
	stream, to, err := s.openStream(ctx, q, lane, authorization, life)
	warnOfAge(out.header(), lane)
	if err != nil || to.forwards() {
		return s.orDraining(ctx, to, err)
	}
	event := q.Event // the stream must not refer to the Request, which would stay in memory
	out.atEnd(func() { stream.close(); event.Returned = stream.events.sent })
	stream.initial, stream.events.meter, stream.caughtUp = sent, s.counters.Watch(event), out.caughtUp
	if stream.watcher != nil {
		out.progress.Watching(stream.watcher)
	} else {
		out.progress.Answering()
	}
	out.notifyLag(s.times.watchLag, func(behind time.Duration) { s.lagging(event, stream, lane, behind) })
	end := time.AfterFunc(time.Until(began.Add(life)), cancel)
	out.atEnd(func() { end.Stop() })
	if q.upgrade {
		framing := q.media.encoding.Framing()
		out.rest = func() error { out.overSocket(ctx, stream, framing); return nil }
		return route{}, nil
	}
	sink := out.frames(q)
	out.rest = func() error { return stream.runAuthorized(ctx, sink) }
	return route{}, nil
}

// orDraining returns the given route and error of a watch that does not begin. If the shutdown has ended the wait of
// the watch, it returns errDraining instead.
func (s *Server) orDraining(ctx context.Context, to route, err error) (route, error) {
	if ctx.Err() != nil && s.termination.has() {
		return route{}, errDraining
	}
	return to, err
}

// openStream prepares a watch. An error becomes the response, as in kube-apiserver, except for errors that
// kube-apiserver sends inside a stream (inStream).
func (s *Server) openStream(ctx context.Context, q *Request, lane Lane, authorization *auth.WatchAuthorization,
	life time.Duration) (*watchStream, route, error) {
	began := time.Now()
	state, err := s.ready(lane)
	if err != nil {
		return nil, route{}, err
	}
	start, to, err := s.startWatch(ctx, q, lane)
	if err != nil && !inStream(err) || to.forwards() {
		return nil, to, err
	}
	stream := &watchStream{
		events: newEvents(q, lane, state.Shape(), func() error { return authorization.Check(ctx) }), watcher: start.watcher,
		older: older{events: start.older, began: time.Now()}, failed: err,
		bookmarking: q.Options.AllowWatchBookmarks, stale: func() bool { return lane.StaleFor() > 0 },
		fromEtcd: q.resource.ReadFromEtcd(), revoked: authorization.Ended(), termination: s.termination,
	}
	if err != nil {
		return stream, route{}, nil
	}
	if stream.fromEtcd { // several events may have one version, so only the initial events get a bookmark
		stream.bookmarking = stream.bookmarking && q.sendsInitialEvents()
	}
	initial := bookmarks.NoInitialEventsEnd
	if q.sendsInitialEvents() {
		initial = bookmarks.SendInitialEventsEnd
	}
	if stream.bookmarking && life <= progressWatchLife && !q.sendsInitialEvents() {
		stream.awaits(ctx, lane, began.Add(life))
	}
	stream.schedule = bookmarks.NewSchedule(bookmarks.Options{
		Start: began, Deadline: began.Add(life), Interval: s.times.bookmarks, InitialEvents: initial,
		Floor: uint64(start.floor), Phase: bookmarkPhase(q.Event.Client),
	})
	return stream, route{}, nil
}

// watchLife returns the lifetime of a watch. It is the lifetime that kube-apiserver would choose (semantics 1.2, 4.2),
// limited by the validity of the caller's credential and by the maximum age. A negative lifetime means that the watch
// ends immediately, because its timeoutSeconds is negative.
func (s *Server) watchLife(q *Request) time.Duration {
	return s.capped(q, s.requestedLife(q))
}

// maxLife limits the lifetime of a watch. The seconds that a client requests could overflow a time.Duration.
const maxLife = 24 * time.Hour

func (s *Server) capped(q *Request, life time.Duration) time.Duration {
	if most := s.times.watchAge; most > 0 && q.Caller.Way != auth.ByKubeconfig {
		life = min(life, time.Duration(float64(most)*(0.9+0.2*rand.Float64()))) // clients must not reconnect at the same time
	}
	if until := q.Caller.Until; !until.IsZero() {
		life = min(life, max(time.Until(until), 0))
	}
	return life
}

func (s *Server) requestedLife(q *Request) time.Duration {
	if seconds := q.Options.TimeoutSeconds; seconds != nil && *seconds != 0 {
		return time.Duration(max(min(*seconds, int64(maxLife/time.Second)), -1)) * time.Second
	}
	return time.Duration(float64(s.times.minWatch) * (1 + rand.Float64()))
}

type watchStart struct {
	watcher *cache.Watcher
	older   *reflector.OlderEvents // events before those of the watcher; nil if there are none
	floor   cache.RV               // bookmarks must be above it: the client has this version, or does not need it
}

// startWatch opens the watcher for a request, or returns the route to the upstream.
func (s *Server) startWatch(ctx context.Context, q *Request, lane Lane) (watchStart, route, error) {
	p, err := planWatch(q)
	if err != nil {
		return watchStart{}, route{}, err
	}
	q.Event.Plan = p.kind.String()
	var start cache.Start
	switch {
	case p.initial:
		state, to, err := s.stateFor(ctx, q, lane, p, fresh.Endless())
		if err != nil || to.forwards() {
			return watchStart{}, to, err
		}
		start = cache.InitialEvents(state)
	case p.kind == mostRecent:
		var to route
		if p.rv, to = s.now(ctx, q, lane); to.forwards() {
			return watchStart{}, to, nil
		}
		start = cache.AfterRV(p.rv) // the watcher drops events up to that version
	case p.kind == anyAge:
		start = cache.FromNow()
	default:
		start = cache.AfterRV(p.rv)
	}
	watcher, err := lane.Store().Watch(cache.WatchOptions{Predicate: q.Predicate, Start: start, Exact: q.fromFacade()})
	if inStream(err) && p.kind == exactly {
		older, err := s.startOlder(ctx, q, lane, err)
		return older, route{}, err
	}
	if err != nil {
		return watchStart{}, route{}, err
	}
	floor := max(p.rv, watcher.Progress())
	q.Event.LaneRV = uint64(floor)
	return watchStart{watcher: watcher, floor: floor}, route{}, nil
}

// watchStream sends the events of a watcher to a client until the watch ends.
type watchStream struct {
	events      *events
	watcher     *cache.Watcher // nil if failed is set
	older       older          // events that are sent before those of the watcher
	failed      error          // error that the stream sends instead of events
	schedule    bookmarks.Schedule
	bookmarking bool
	fromEtcd    bool // kube-apiserver reads from etcd: no bookmark except after initial events (semantics 4.1)
	awaited     awaited
	replayed    cache.RV // end of the last replay of differences that the client received
	stale       func() bool
	revoked     <-chan struct{} // closed when the watch authorization has ended
	initial     func()          // called after the initial events, possibly more than once
	termination *watchTermination
	caughtUp    func() // called when the client has accepted all events, possibly more than once
}

func (s *watchStream) close() {
	if s.watcher != nil {
		s.watcher.Close()
	}
	s.older.close()
}

// runAuthorized runs the stream. If the authorization ends, the stream ends without an error, and the client's next
// request is refused. The stream also ends without an error if the watch ends while an authorization is pending.
func (s *watchStream) runAuthorized(ctx context.Context, sink frameSink) error {
	err := s.run(ctx, sink)
	if over := ctx.Err(); errors.Is(err, auth.ErrRevoked) || over != nil && errors.Is(err, over) {
		return nil
	}
	return err
}

func (s *watchStream) run(ctx context.Context, sink frameSink) error {
	s.events.sink = sink
	if err := sink.begin(); err != nil {
		return err
	}
	if s.failed != nil {
		return s.fail(s.failed)
	}
	if complete, err := s.older.send(s.events); err != nil || !complete {
		return err
	}
	for {
		more := s.watcher.Wait()
		if err := s.drain(); err != nil {
			return err
		}
		if err := s.watcher.Err(); err != nil {
			return s.finish(err)
		}
		s.bookmark()
		if err := s.events.flush(); err != nil {
			return err
		}
		s.initial()
		s.caughtUp()
		s.events.progress.Rests()
		again := s.wait(ctx, more)
		s.events.progress.Wakes()
		if !again {
			return s.terminate()
		}
	}
}

func (s *watchStream) drain() error {
	for {
		run, ok := s.watcher.NextInitial()
		if !ok {
			break
		}
		if err := s.events.added(run); err != nil {
			return err
		}
	}
	for {
		event, ok := s.watcher.Next()
		if !ok {
			return nil
		}
		s.add(event)
		if err := s.events.flushFull(); err != nil {
			return err
		}
	}
}

func (s *watchStream) add(event cache.Event) {
	if event.Type != cache.InitialEventsEnd {
		s.events.object(event, s.watcher)
		return
	}
	if !s.bookmarking {
		return
	}
	s.bookmarking = !s.fromEtcd
	if representation, send := s.schedule.Take(time.Now(), uint64(event.RV)); send {
		s.events.bookmark(event.RV, representation)
	}
}

// bookmark sends a bookmark if it is due. All events of the watcher were sent, so Progress is correct (I4). While the
// upstream does not respond, only the bookmark of a replay is sent.
func (s *watchStream) bookmark() {
	if s.sendReplayBookmark() {
		return
	}
	if due, ok := s.due(); !ok || time.Now().Before(due) {
		return
	}
	rv := s.watcher.Progress()
	if representation, send := s.schedule.Take(time.Now(), uint64(rv)); send {
		s.events.bookmark(rv, representation)
	}
}

// due returns when to try the next bookmark, and false if there is no next bookmark.
func (s *watchStream) due() (time.Time, bool) {
	if s.owesReplayBookmark() {
		return time.Now().Add(awaitedEvery), true
	}
	at, ok := s.schedule.Next()
	switch {
	case s.stale() && ok:
		at = time.Now().Add(time.Second) // no bookmark while the upstream does not respond; check again a second later
	case s.awaited.before(s.watcher.Progress()):
		at = latest(at, time.Now().Add(awaitedEvery))
	}
	return at, ok && s.bookmarking
}

// wait returns true when there may be more to send, and false when the watch has ended.
func (s *watchStream) wait(ctx context.Context, more <-chan struct{}) bool {
	var due <-chan time.Time
	if at, ok := s.due(); ok {
		timer := time.NewTimer(max(time.Until(at), 0))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-more:
		return true
	case <-due:
		return true
	case <-s.revoked:
		return false
	case <-ctx.Done():
		return false
	}
}

// terminate ends the stream, but if possible not inside a replay of differences. When the server shuts down, terminate
// may send a last bookmark. The client then resumes from the bookmark's version at another server, and does not list.
func (s *watchStream) terminate() error {
	if s.isRevoked() {
		return s.events.flush()
	}
	last := s.termination.has() && s.bookmarking && !s.stale()
	if last {
		if err := s.drain(); err != nil {
			return err
		}
	}
	if err := s.finishReplay(); err != nil {
		return err
	}
	if rv := s.watcher.Progress(); last && s.watcher.Err() == nil && rv > s.replayed && rv >= s.watcher.EndOfReplay() &&
		s.schedule.Last(uint64(rv)) {
		s.events.bookmark(rv, bookmarks.Plain)
	}
	return s.events.flush()
}

func (s *watchStream) isRevoked() bool {
	select {
	case <-s.revoked:
		return true
	default:
		return false
	}
}

// finish ends the stream after an error of the watcher. It sends the error, such as a 410, unless the lane was stopped.
func (s *watchStream) finish(err error) error {
	if errors.Is(err, io.EOF) {
		return s.events.flush()
	}
	return s.fail(err)
}

// fail sends an error as the last event. If kube-apiserver watches etcd, an ExpiredError becomes etcd's error.
func (s *watchStream) fail(err error) error {
	var expired *cache.ExpiredError
	if s.fromEtcd && errors.As(err, &expired) {
		err = &forgottenError{cause: expired}
	}
	return s.events.fail(err)
}
