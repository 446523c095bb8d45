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

// watch answers with a stream of events (semantics 4), which is the rest of the answer.
func (s *Server) watch(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) error {
	before := len(out.ends)
	defer func() {
		if out.rest == nil { // what is answered in another way, as by the upstream, holds nothing of this
			out.leaveTo(before)
		}
	}()
	authorization := s.authorization.authorizer.Hold(q.Attributes)
	out.atEnd(authorization.Release)
	life := s.watchLife(q)
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	out.atEnd(cancel)
	out.atEnd(s.termination.follow(cancel))
	if life < 0 {
		return out.nothing(ctx, q, lane.Encoding) // over before it began, which is not an error
	}
	sent, err := s.limiter.chargeInitial(ctx, out, q, lane)
	if err != nil {
		return s.unlessParted(ctx, err)
	}
	out.atEnd(sent)
	// It waits for a version longer than a short life, as kube-apiserver does.
	stream, err := s.openStream(ctx, q, lane, authorization, life)
	warnOfAge(out.header(), lane)
	if err != nil {
		return s.unlessParted(ctx, err)
	}
	event := q.Event // nothing of what stays holds the Request
	out.atEnd(func() { stream.close(); event.Returned = stream.events.sent })
	stream.initial, stream.events.meter, stream.caughtUp = sent, s.live.Watch(event), out.caughtUp
	if stream.watcher != nil {
		out.progress.Watching(stream.watcher)
	} else {
		out.progress.Answering()
	}
	out.tellLag(s.times.watchLag, func(behind time.Duration) { s.lagging(event, stream, lane, behind) })
	end := time.AfterFunc(time.Until(began.Add(life)), cancel)
	out.atEnd(func() { end.Stop() })
	if q.upgrade {
		framing := lane.Encoding.Framing()
		out.rest = func() error { out.overSocket(ctx, stream, framing); return nil }
		return nil
	}
	sink := out.frames(q, lane.Encoding)
	out.rest = func() error { return stream.runAuthorized(ctx, sink) }
	return nil
}

// unlessParted is why a watch could not begin; that the server shuts down where that ended what it waited for.
func (s *Server) unlessParted(ctx context.Context, err error) error {
	if ctx.Err() != nil && s.termination.has() {
		return errDraining
	}
	return err
}

// openStream prepares a watch. An error is one that kube-apiserver answers with instead of a stream.
func (s *Server) openStream(ctx context.Context, q *Request, lane *reflector.Reflector, authorization *auth.WatchAuthorization, life time.Duration) (*watchStream, error) {
	began := time.Now()
	state, err := s.ready(lane)
	if err != nil {
		return nil, err
	}
	watcher, floor, err := s.startWatch(ctx, q, lane)
	if err != nil && !inStream(err) {
		return nil, err
	}
	stream := &watchStream{
		events: newEvents(q, lane, state.Shape(), func() error { return authorization.Check(ctx) }), watcher: watcher, failed: err,
		bookmarking: q.Options.AllowWatchBookmarks, stale: func() bool { return lane.StaleFor() > 0 },
		fromEtcd: q.resource.ReadFromEtcd(), revoked: authorization.Ended(), termination: s.termination,
	}
	if err != nil {
		return stream, nil
	}
	if stream.fromEtcd { // several of its events may share a version, so only initial events have an end
		stream.bookmarking = stream.bookmarking && q.sendsInitialEvents()
	}
	initial := bookmarks.NotOwed
	if q.sendsInitialEvents() {
		initial = bookmarks.Owed
	}
	if stream.bookmarking && life <= progressWatchLife && !q.sendsInitialEvents() {
		stream.awaits(ctx, lane, began.Add(life))
	}
	stream.schedule = bookmarks.NewSchedule(bookmarks.Options{
		Start: began, Deadline: began.Add(life), Interval: s.times.bookmarks, InitialEvents: initial,
		Floor: uint64(floor),
	})
	return stream, nil
}

// watchLife is how long a watch may last: as long as kube-apiserver would let it (semantics 1.2, 4.2), but no longer
// than its credential, and than the age at which every client has to come by again. A negative timeoutSeconds is over
// at once.
func (s *Server) watchLife(q *Request) time.Duration {
	return s.capped(q, s.watchAsked(q))
}

// maxLife is longer than any connection; more would overflow a duration when it is added to.
const maxLife = 24 * time.Hour

// capped is a watch's life, or less.
func (s *Server) capped(q *Request, life time.Duration) time.Duration {
	if most := s.times.watchAge; most > 0 && q.Caller.Way != auth.ByKubeconfig {
		life = min(life, time.Duration(float64(most)*(0.9+0.2*rand.Float64()))) // so that they do not come together
	}
	if until := q.Caller.Until; !until.IsZero() {
		life = min(life, max(time.Until(until), 0))
	}
	return life
}

func (s *Server) watchAsked(q *Request) time.Duration {
	if seconds := q.Options.TimeoutSeconds; seconds != nil && *seconds != 0 {
		return time.Duration(max(min(*seconds, int64(maxLife/time.Second)), -1)) * time.Second
	}
	return time.Duration(float64(s.times.minWatch) * (1 + rand.Float64()))
}

// startWatch opens the watcher that a request asks for, and returns the version that bookmarks must lie above: what the
// client knows already, or need not know.
func (s *Server) startWatch(ctx context.Context, q *Request, lane *reflector.Reflector) (*cache.Watcher, cache.RV, error) {
	p, err := planWatch(q)
	if err != nil {
		return nil, 0, err
	}
	q.Event.Plan = p.kind.String()
	var start cache.Start
	switch {
	case p.initial:
		state, err := s.stateFor(ctx, q, lane, p, fresh.Endless())
		if err != nil {
			return nil, 0, err
		}
		start = cache.InitialEvents(state)
	case p.kind == mostRecent:
		if p.rv, err = s.now(ctx, q, lane); err != nil {
			return nil, 0, err
		}
		start = cache.AfterRV(p.rv) // events on their way there are dropped
	case p.kind == anyAge:
		start = cache.FromNow()
	default:
		start = cache.AfterRV(p.rv)
	}
	watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: q.Predicate, Start: start, Exact: q.fromFacade()})
	if err != nil {
		return nil, 0, err
	}
	q.Event.LaneRV = uint64(max(p.rv, watcher.Progress()))
	return watcher, max(p.rv, watcher.Progress()), nil
}

// watchStream moves events from a watcher to a client until one of them ends.
type watchStream struct {
	events      *events
	watcher     *cache.Watcher // nil when failed is not
	failed      error          // what the stream says instead of events
	schedule    bookmarks.Schedule
	bookmarking bool
	fromEtcd    bool // as kube-apiserver has it: no bookmark but the one after initial events (semantics 4.1)
	awaited     awaited
	landed      cache.RV // the end of the last gap that the client was told of
	stale       func() bool
	revoked     <-chan struct{} // closed when the right to the watch has ended
	initial     func()          // called when the initial events were sent, and again
	termination *watchTermination
	caughtUp    func() // called when the client has accepted everything, and again
}

func (s *watchStream) close() {
	if s.watcher != nil {
		s.watcher.Close()
	}
}

// runAuthorized runs the stream and ends it where it is when the right to it is gone: whoever asks again is told why.
// So it does when the watch is over while nobody knows whether the right is gone.
func (s *watchStream) runAuthorized(ctx context.Context, sink frameSink) error {
	err := s.run(ctx, sink)
	if over := ctx.Err(); errors.Is(err, auth.ErrRevoked) || over != nil && errors.Is(err, over) {
		return nil
	}
	return err
}

// run sends what there is, then waits for more. A burst goes out in one write.
func (s *watchStream) run(ctx context.Context, sink frameSink) error {
	s.events.sink = sink
	if err := sink.begin(); err != nil {
		return err
	}
	if s.failed != nil {
		return s.fail(s.failed)
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
		goesOn := s.wait(ctx, more)
		s.events.progress.Wakes()
		if !goesOn {
			return s.part()
		}
	}
}

// drain sends every event that the watcher has now.
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

// bookmark sends one if it is due. Everything that the watcher had was sent, so Progress is true (I4). While the
// upstream is not heard, nothing is promised.
func (s *watchStream) bookmark() {
	if s.land() {
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

// due is when the next bookmark is to be tried.
func (s *watchStream) due() (time.Time, bool) {
	if s.lands() {
		return time.Now().Add(awaitedEvery), true
	}
	at, ok := s.schedule.Next()
	switch {
	case s.stale() && ok:
		at = time.Now().Add(time.Second) // look again then
	case s.awaited.before(s.watcher.Progress()):
		at = latest(at, time.Now().Add(awaitedEvery))
	}
	return at, ok && s.bookmarking
}

// wait returns when there may be more to send; false when the watch is over.
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

// part ends the stream, not inside a gap that was bridged. Where the server shuts down a last bookmark goes before the
// end, so that the client goes on from there elsewhere, where fewer events are left to be sent again, and nothing has
// to be listed.
func (s *watchStream) part() error {
	if s.isRevoked() {
		return s.events.flush()
	}
	last := s.termination.has() && s.bookmarking && !s.stale()
	if last {
		if err := s.drain(); err != nil {
			return err
		}
	}
	if err := s.leave(); err != nil {
		return err
	}
	if rv := s.watcher.Progress(); last && s.watcher.Err() == nil && rv > s.landed && rv >= s.watcher.EndOfReplay() && s.schedule.Last(uint64(rv)) {
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

// finish ends the stream as the lane ended: cleanly when it was stopped, with the 410 when its window or epoch is lost.
func (s *watchStream) finish(err error) error {
	if errors.Is(err, io.EOF) {
		return s.events.flush()
	}
	return s.fail(err)
}

// fail ends the stream with an error, which is etcd's where kube-apiserver watches etcd.
func (s *watchStream) fail(err error) error {
	var expired *cache.ExpiredError
	if s.fromEtcd && errors.As(err, &expired) {
		err = &forgottenError{cause: expired}
	}
	return s.events.fail(err)
}
