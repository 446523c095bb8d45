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
)

// Limits are the maximum work for all callers together and for each caller (auth.Caller.Share). In each field, 0 means
// unlimited. Requests about the facade itself, such as health and metrics, do not count.
type Limits struct {
	// Requests in flight that are not long-running, in total and per caller. Excess requests are queued per caller. Flags:
	// --max-requests-inflight and --max-requests-inflight-per-user.
	Requests, RequestsPerUser int
	// Bytes of lists and initial events in flight, before compression. Each caller may use a quarter. Flag:
	// --max-list-bytes-inflight.
	ListBytes int64
	// Open watches and logs, in total and per caller. If all seats are taken, a new watch may end a watch of the group of
	// callers with the most watches (ADR 29). Flags: --max-watches and --max-watches-per-user.
	Watches, WatchesPerUser int
	// Watches and logs that may begin in a second, in total and per caller. The burst is 2.5 times the total rate, and ten
	// times the rate of a caller. Above the total rate, requests are queued per caller. Above a caller's rate, its
	// requests are refused. Flags: --watch-rate and --watch-rate-per-user.
	WatchRate, WatchRatePerUser int
}

// DefaultLimits returns the limits of a facade that authenticates its callers.
func DefaultLimits() Limits {
	return Limits{
		Requests: 400, RequestsPerUser: 50, ListBytes: 64 << 30, Watches: 50_000, WatchesPerUser: 2000, WatchRate: 2000,
		WatchRatePerUser: 50,
	}
}

// Maximum number of queued requests: of one caller, and in total.
const (
	maxWaiting    = 1024
	maxWaitingAll = 8192
)

// stallBounds limit the responses whose clients read slowly or not at all. A caller may have 100, the number of streams
// of an HTTP/2 connection. All callers together may have five times the default number of requests in flight.
var stallBounds = limit.StallBounds{One: 100, All: 2000, Bytes: 512 << 20}

// stallShare is the maximum share of the memory budget for stalled responses.
const stallShare = 0.1

// shares enforces the Limits. A nil field means unlimited.
type shares struct {
	requests, bytes *limit.Seats // each seat of bytes represents 1 MiB
	watches         *limit.Streams
	refused         *limit.Streams // for watches and logs that the upstream is about to refuse
	begins          *limit.Rates   // limits how many watches and logs a caller begins per second
	pace            *limit.Pace    // limits how many watches and logs all callers begin per second
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
		queue := orUnlimited(l.Watches) // a refusal costs more than a wait, because the client comes back
		s.pace = limit.NewPace(limit.Rate{PerSecond: float64(l.WatchRate), Burst: l.WatchRate * 5 / 2}, queue, queue)
	}
	return s
}

// newSeats returns seats with a maximum for all callers and a maximum for each caller; 0 means unlimited. All callers
// of a group get at most half of the seats, or a caller's maximum if it is more. If both maximums are 0, newSeats
// returns nil.
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
	return limit.NewSeats(limit.Bounds{One: each, Group: max(each, all/2), All: all, Queue: maxWaiting,
		QueueAll: maxWaitingAll})
}

// enter admits a request, after a wait if necessary. For a long-running request, enter checks only the caller's own
// rate. open checks the other limits after the authorization.
func (l *limiter) enter(ctx context.Context, out *reply, q *Request) error {
	switch {
	case q.subject.own():
		return nil
	case !q.runsLong():
		_, err := l.seats(ctx, out, q, l.shares.requests, 1)
		return err
	case l.shares.watches == nil: // the limiter has no Limits
		return nil
	}
	if after, ok := l.shares.begins.Take(q.Caller.Share()); !ok {
		return tooMany(after)
	}
	return nil
}

// open takes a seat for an authorized, long-running request. Before that, it waits until the rate of all callers allows
// the request. The new seat may end another stream.
func (l *limiter) open(ctx context.Context, out *reply, q *Request) error {
	if err := l.awaitPace(ctx, out, q); err != nil {
		return err
	}
	if l.refusesNew(q) {
		return errDraining
	}
	return l.occupy(out, q, l.shares.watches)
}

// openRefused takes a seat for a long-running request that the upstream is about to refuse. The request does not end
// streams of authorized callers, and does not count for the rate of all callers.
func (l *limiter) openRefused(out *reply, q *Request) error {
	return l.occupy(out, q, l.shares.refused)
}

// occupy takes memory and a seat for a long-running request, until the end of the response.
func (l *limiter) occupy(out *reply, q *Request, pool *limit.Streams) error {
	if pool == nil { // the limiter has no Limits
		return nil
	}
	give, ok := l.memory.Take(budget.Watches, watchMemory)
	if !ok {
		return tooMany(0)
	}
	leave, err := pool.Enter(callerKey(q.Caller), out.displace)
	if err != nil {
		give()
		return tooMany(0)
	}
	out.atEnd(func() { give(); leave() })
	return nil
}

// awaitPace waits until the rate of all callers allows another long-running request of this caller. It first ends the
// request's turn (turns.go). Otherwise waiting requests would keep all turns, and requests of new callers could not
// begin.
func (l *limiter) awaitPace(ctx context.Context, out *reply, q *Request) error {
	if l.shares.pace == nil {
		return nil
	}
	out.turn.end()
	defer q.Event.Waited(observe.Queueing, q.Event.Waiting(observe.Queueing))
	waiting, cancel := context.WithTimeout(ctx, l.timeout)
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

func callerKey(caller *auth.Caller) limit.Key {
	return limit.Key{Group: caller.Group(), One: caller.Share()}
}

// charge takes list bytes from the caller's share before the response is sent. For a large response, it also takes
// memory. leave releases both, and may be called more than once.
func (l *limiter) charge(ctx context.Context, out *reply, q *Request, bytes int64) (leave func(), err error) {
	leave, err = l.seats(ctx, out, q, l.shares.bytes, 1+bytes/bytesPerSeat)
	if err != nil || bytes < largeAnswer {
		return leave, err
	}
	out.seat.grows(answerMemory)
	return l.alsoMemory(budget.Answers, answerMemory, leave)
}

const (
	// largeAnswer is the minimum size in bytes of a response that is refused if memory is short. Sending a smaller
	// response takes hardly more memory than its request.
	largeAnswer = 256 << 10
	// answerMemory is the memory in bytes that is taken for sending a large response. Responses are written in pieces, so
	// the real need depends on the size of an object: 0.4 MB for objects of 200 kB, more for larger ones.
	answerMemory = 1 << 20
	// watchMemory is the memory in bytes that is taken for an open watch and its part of the connection.
	watchMemory = 40 << 10
)

// alsoMemory takes memory. The returned function returns the memory and calls leave. If there is not enough memory,
// alsoMemory itself calls leave.
func (l *limiter) alsoMemory(purpose budget.Purpose, bytes int64, leave func()) (func(), error) {
	give, ok := l.memory.Take(purpose, bytes)
	if !ok {
		leave()
		return nil, tooMany(0)
	}
	return func() { give(); leave() }, nil
}

// seats waits until the caller gets the given number of seats. It adds them to the seats of the response (reply.seat),
// which may release them early (seat.go). leave may be called more than once.
func (l *limiter) seats(ctx context.Context, out *reply, q *Request, pool *limit.Seats,
	seats int64) (leave func(), err error) {
	if pool == nil {
		return func() {}, nil
	}
	defer q.Event.Waited(observe.Queueing, q.Event.Waiting(observe.Queueing))
	waiting, cancel := context.WithTimeout(ctx, l.patience(ctx, q))
	defer cancel()
	leave, err = pool.Take(waiting, callerKey(q.Caller), seats)
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

// spread is the number of seconds over which the retries of refused requests are distributed.
const spread = 5

// tooMany returns a 429 with the message of kube-apiserver's priority and fairness. The facade sends the message in a
// Status, kube-apiserver as plain text. Retry-After is at least the given time, but at most maxRetryAfter.
func tooMany(after time.Duration) error {
	seconds := max(int(math.Ceil(after.Seconds())), 1+rand.IntN(spread))
	return apierrors.NewTooManyRequests("Too many requests, please try again later.", min(seconds, maxRetryAfter))
}

// answerBytes estimates the bytes of a response. It includes objects that the read searches but does not select.
func answerBytes(q *Request, lane Lane, p plan) int64 {
	state, err := lane.Store().State()
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

func (l *limiter) chargeInitial(ctx context.Context, out *reply, q *Request, lane Lane) (leave func(), err error) {
	p, err := planWatch(q)
	if err != nil || !p.initial {
		return func() {}, nil //nolint:nilerr // the watch returns the same error
	}
	charged, err := l.charge(ctx, out, q, answerBytes(q, lane, p))
	if err != nil {
		return nil, err
	}
	return func() { charged(); out.seat.release() }, nil
}
