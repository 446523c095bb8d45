package handlers

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/budget"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
)

// Limits are how much callers may have under way, in all and each of them (auth.Caller.Share). Each is 0 for any
// number. Requests about the facade itself, such as health and metrics, do not count.
type Limits struct {
	// Requests that have an end of their own may be under way; more wait, in turns of callers: --max-requests-inflight
	// and --max-requests-inflight-per-user.
	Requests, RequestsPerUser int
	// ListBytes of lists and initial events may be on their way to clients, as they are before they are compressed; a
	// quarter of them to one caller. --max-list-bytes-inflight.
	ListBytes int64
	// Watches may be open, and logs; when all places are taken, a newcomer displaces a watch of the callers with the most
	// (ADR 29). --max-watches and --max-watches-per-user.
	Watches, WatchesPerUser int
	// WatchRate and WatchRatePerUser may begin in a second, and for a moment as many as in 2.5 and in ten; of all more
	// wait, in turns of callers. --watch-rate and --watch-rate-per-user.
	WatchRate, WatchRatePerUser int
}

// DefaultLimits are those of a facade whose callers are told apart.
func DefaultLimits() Limits {
	return Limits{
		Requests: 400, RequestsPerUser: 50, ListBytes: 64 << 30, Watches: 50_000, WatchesPerUser: 2000, WatchRate: 2000, WatchRatePerUser: 50,
	}
}

// How many requests wait until others have ended: of one caller, and in all.
const (
	mostWaiting    = 1024
	mostWaitingAll = 8192
)

// stallBounds are how many answers may wait for clients that take them slowly or not at all: of one caller as many as
// there are streams on a connection of HTTP/2, and of everybody five times the requests that are under way.
var stallBounds = limit.StallBounds{One: 100, All: 2000, Bytes: 512 << 20}

// stallShare is the part of the memory that they may take.
const stallShare = 0.1

// shares holds callers to the Limits. What has no limit is nil.
type shares struct {
	requests, bytes *limit.Seats // seats of the second stand for a MiB each
	watches         *limit.Streams
	refused         *limit.Streams // watches and logs that the upstream is about to refuse
	begins          *limit.Rates   // of each caller
	pace            *limit.Pace    // of all
}

func newShares(l Limits) shares {
	seats := (l.ListBytes + bytesPerSeat - 1) / bytesPerSeat
	streams := limit.StreamBounds{One: l.WatchesPerUser, All: l.Watches}
	s := shares{
		requests: newSeats(int64(l.Requests), int64(l.RequestsPerUser)), bytes: newSeats(seats, (seats+3)/4),
		watches: limit.NewStreams(streams), refused: limit.NewStreams(streams),
		begins: limit.NewRates(limit.Rate{PerSecond: float64(l.WatchRatePerUser), Burst: 10 * l.WatchRatePerUser}),
	}
	if l.WatchRate > 0 {
		s.pace = limit.NewPace(limit.Rate{PerSecond: float64(l.WatchRate), Burst: l.WatchRate * 5 / 2}, mostWaiting, mostWaitingAll)
	}
	return s
}

// newSeats has so many seats, so many for one caller, and half of them for all callers of a group; nil is any number
// for any.
func newSeats(all, each int64) *limit.Seats {
	if all == 0 && each == 0 {
		return nil
	}
	if all == 0 {
		all = math.MaxInt64
	}
	if each == 0 {
		each = all
	}
	return limit.NewSeats(limit.Bounds{One: each, Group: max(each, all/2), All: all, Queue: mostWaiting, QueueAll: mostWaitingAll})
}

// enter takes a request in, which may have to wait for others to end. What runs long takes only of its caller's own
// rate: what it takes of all callers' it takes when it is authorized (open).
func (l *limiter) enter(ctx context.Context, out *reply, q *Request) error {
	switch {
	case q.subject.own():
		return nil
	case !q.runsLong():
		_, err := l.seats(ctx, out, q, l.shares.requests, 1)
		return err
	case l.shares.watches == nil: // a limiter that was made without Limits
		return nil
	}
	if after, ok := l.shares.begins.Take(q.Caller.Share()); !ok {
		return tooMany(after)
	}
	return nil
}

// open takes a place for a request that runs long and is authorized, in its caller's turn. It may end the stream of
// another.
func (l *limiter) open(ctx context.Context, out *reply, q *Request) error {
	if err := l.awaitPace(ctx, q); err != nil {
		return err
	}
	if l.refusesNew(q) {
		return errDraining
	}
	return l.occupy(out, q, l.shares.watches)
}

// openRefused takes a place for a request that runs long, and that the upstream is about to refuse. It ends the stream
// of no caller that has a right to it, and takes nothing of the rate of all.
func (l *limiter) openRefused(out *reply, q *Request) error {
	return l.occupy(out, q, l.shares.refused)
}

// occupy takes the memory of a request that runs long and a place, until the end of the answer.
func (l *limiter) occupy(out *reply, q *Request, places *limit.Streams) error {
	if places == nil { // a limiter that was made without Limits
		return nil
	}
	give, ok := l.memory.Take(budget.Watches, watchMemory)
	if !ok {
		return tooMany(0)
	}
	leave, err := places.Enter(callerKey(q.Caller), out.displace)
	if err != nil {
		give()
		return tooMany(0)
	}
	out.atEnd(func() { give(); leave() })
	return nil
}

// turn waits until the rate of all callers lets one more of this one begin.
func (l *limiter) awaitPace(ctx context.Context, q *Request) error {
	if l.shares.pace == nil {
		return nil
	}
	defer q.Event.Waited(observe.Queueing, q.Event.Waiting(observe.Queueing))
	waiting, cancel := context.WithTimeout(ctx, l.patience(ctx, q))
	defer cancel()
	settle, err := l.shares.pace.Take(waiting, callerKey(q.Caller))
	switch {
	case err == nil:
		settle(true)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return tooMany(0)
}

// callerKey names whose share a caller uses, and who shares it with him.
func callerKey(caller *auth.Caller) limit.Key {
	return limit.Key{Group: caller.Group(), One: caller.Share()}
}

// charge takes the caller's share of the bytes that are on their way, before they are, and the memory that it takes to
// send them; leave is for when they were sent, and may be called again.
func (l *limiter) charge(ctx context.Context, out *reply, q *Request, bytes int64) (leave func(), err error) {
	leave, err = l.seats(ctx, out, q, l.shares.bytes, 1+bytes/bytesPerSeat)
	if err != nil || bytes < largeAnswer {
		return leave, err
	}
	out.seat.grows(answerMemory)
	return l.alsoMemory(budget.Answers, answerMemory, leave)
}

const (
	// largeAnswer is how many bytes an answer has at least that is refused where memory is short. What is smaller is
	// hardly more than its request.
	largeAnswer = 256 << 10
	// answerMemory is what a large answer takes while it is sent, however large it is, since it is written piece by piece:
	// 0.4 MB of objects of 200 kB, and more of larger ones.
	answerMemory = 1 << 20
	// watchMemory is what an open watch takes at most, with its part in a connection.
	watchMemory = 40 << 10
)

// alsoMemory takes memory for what has been let in otherwise; leave gives back both, and is called where there is none.
func (l *limiter) alsoMemory(purpose budget.Purpose, bytes int64, leave func()) (func(), error) {
	give, ok := l.memory.Take(purpose, bytes)
	if !ok {
		leave()
		return nil, tooMany(0)
	}
	return func() { give(); leave() }, nil
}

// seats waits for seats of the caller's, which the answer's seat has until then. leave may be called again.
func (l *limiter) seats(ctx context.Context, out *reply, q *Request, places *limit.Seats, seats int64) (leave func(), err error) {
	if places == nil {
		return func() {}, nil
	}
	defer q.Event.Waited(observe.Queueing, q.Event.Waiting(observe.Queueing))
	waiting, cancel := context.WithTimeout(ctx, l.patience(ctx, q))
	defer cancel()
	leave, err = places.Take(waiting, callerKey(q.Caller), seats)
	switch {
	case err == nil:
		if l.stalls != nil {
			out.seat.hold(l.stalls, q.Caller.Share(), leave)
		}
		out.atEnd(out.seat.release)
		return leave, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, limit.ErrBusy):
		return nil, tooMany(0)
	}
	return nil, err
}

// spread is over how many seconds those who are refused together come back.
const spread = 5

// tooMany is the 429 of kube-apiserver's priority and fairness, for whoever is to come back after a time at least.
func tooMany(after time.Duration) error {
	seconds := max(int(math.Ceil(after.Seconds())), 1+rand.IntN(spread))
	return apierrors.NewTooManyRequests("Too many requests, please try again later.", min(seconds, mostRetryAfter))
}

// answerBytes are about those that a read of a plan will be told: of the objects that it is looked for among.
func answerBytes(q *Request, lane *reflector.Reflector, p plan) int64 {
	state, err := lane.Cache.State()
	if err != nil {
		return 0
	}
	objects, bytes := 0, int64(0)
	for run := range state.Candidates(q.Predicate, p.from) {
		of := run.To - run.From
		if p.limit > 0 && objects+of >= p.limit {
			return bytes + run.Bytes()*int64(p.limit-objects)/int64(of)
		}
		objects, bytes = objects+of, bytes+run.Bytes()
	}
	return bytes
}

// chargeInitial charges a watch for its initial events; one that has none costs nothing.
func (l *limiter) chargeInitial(ctx context.Context, out *reply, q *Request, lane *reflector.Reflector) (leave func(), err error) {
	p, err := planWatch(q)
	if err != nil || !p.initial {
		return func() {}, nil //nolint:nilerr // the watch itself says what is wrong
	}
	charged, err := l.charge(ctx, out, q, answerBytes(q, lane, p))
	if err != nil {
		return nil, err
	}
	return func() { charged(); out.seat.release() }, nil
}
