package auth

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// maxSeatQueue and maxSeatQueueAll bound the reviews that wait for a seat: per caller or source, and in total.
	maxSeatQueue, maxSeatQueueAll = 1024, 8192
	// groupPaces is the rate of a group of callers, as a multiple of the rate of one caller. Pods of a namespace that
	// restart at the same time, and ask one question each, need a higher rate than one caller.
	groupPaces = 10
)

// Kinds of work, for limit.Seat.Report. The upstream takes different times for them.
const (
	tokenReviewWork  = "token"
	accessReviewWork = "access"
)

// watchesKey is the key of all reviews for watches. They need no separate keys, because schedule orders them.
var watchesKey = limit.Alone("")

var errNoSeat = errors.New("reviews under way are not answered")

// Seats bounds the token reviews and access reviews that one kube-apiserver answers at a time
// (docs/adr/0035-concurrent-reviews.md). Safe for concurrent use.
type Seats struct {
	adaptive   *limit.Adaptive
	unanswered atomic.Bool // whether the last review had no answer
}

// NewSeats returns Seats without a review under way.
func NewSeats() *Seats {
	return &Seats{adaptive: limit.NewAdaptive(limit.AdaptiveBounds{Queue: maxSeatQueue, QueueAll: maxSeatQueueAll})}
}

// Load returns the seats in use, the current number of seats, and the reviews that wait.
func (s *Seats) Load() limit.Load { return s.adaptive.Load() }

// wait returns the maximum time that a review waits before it is sent. It is shorter while reviews are unanswered.
func (s *Seats) wait() time.Duration {
	if s.unanswered.Load() {
		return reviewTimeout
	}
	return seatWait
}

// take waits for a seat until the context ends. Without a seat, it returns a *BusyError, or an *UnavailableError if the
// last review had no answer. The caller must call leave.
func (s *Seats) take(ctx context.Context, key limit.Key, rank limit.Rank) (*seat, error) {
	taken, err := s.adaptive.Take(ctx, key, rank)
	switch {
	case err == nil:
		return &seat{Seat: taken, of: s}, nil
	case s.unanswered.Load():
		return nil, &UnavailableError{Err: errNoSeat}
	default:
		return nil, &BusyError{After: retryAfter}
	}
}

type seat struct {
	*limit.Seat
	of    *Seats
	after time.Duration // Retry-After of the last 429; 0 after another result
}

func (s *seat) report(kind string, took time.Duration, err error) {
	var code *codeError
	isCode := errors.As(err, &code)
	result := limit.Failed
	s.after = 0
	switch {
	case errors.Is(err, context.Canceled): // the caller left
		s.Report(kind, limit.Failed, took)
		return
	case isCode && code.code == http.StatusTooManyRequests:
		s.after, result = min(code.retryAfter(), seatWait), limit.Overloaded
	case isCode && code.isOverload(), errors.Is(err, context.DeadlineExceeded):
		result = limit.Overloaded
	case err == nil, errors.Is(err, errRefused), errors.Is(err, ErrUnauthenticated):
		result = limit.Answered
	}
	s.Report(kind, result, took)
	s.of.unanswered.Store(result != limit.Answered && s.after == 0 && !isAnswer(err))
}

// leave returns the seat. After a 429, the seat stays taken for the time in Retry-After, so that few further reviews
// get a 429.
func (s *seat) leave() { s.Leave(s.after) }

// newPaces returns the rates of callers and groups. The queue of a caller has room for the questions that its rate
// allows in seatWait. Further questions would wait and then be refused.
func newPaces(perShare limit.Rate) *limit.Paces {
	queue := int(min(max(1, perShare.PerSecond*seatWait.Seconds()), maxSeatQueue))
	return limit.NewPaces(perShare, groupPaces, queue, maxSeatQueueAll)
}

func seatKey(caller *Caller) limit.Key { return limit.Key{Group: caller.Group(), One: caller.Share()} }

// takePace waits until the caller may ask a new question. It returns a *BusyError if the context ends or too many wait.
func (r *Reviews) takePace(ctx context.Context, caller *Caller) error {
	if err := r.paces.Take(ctx, seatKey(caller)); err != nil {
		return &BusyError{After: retryAfter, share: caller.Share()}
	}
	return nil
}

// takeSeat waits for a seat for a caller whose rate permits a review. Errors are those of Seats.take. A *BusyError
// names the caller's share, so that another caller with the same question asks it again.
func (r *Reviews) takeSeat(ctx context.Context, caller *Caller) (*seat, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Seats.wait())
	defer cancel()
	seat, err := r.config.Seats.take(ctx, seatKey(caller), limit.InTurns)
	var busy *BusyError
	if errors.As(err, &busy) {
		busy.share = caller.Share()
	}
	return seat, err
}

// Paced returns the number of questions that wait because their callers ask too many.
func (r *Reviews) Paced() int { return r.paces.Waiting() }
