package handlers

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/internal/observe"
)

// bulkForwards is how many lists without a limit the upstream is asked for at a time. A storm of them is what the cache
// is there to keep away from it, also when the cache cannot answer.
const bulkForwards = 8

// bulkWait is how long one waits for its turn: most are small and take milliseconds.
const bulkWait = time.Second

// limiter is the third station: it says whether a request may go on now, later or not at all.
type limiter struct {
	draining context.Context // ends when the server begins to shut down
	bulk     *semaphore.Weighted
}

func newLimiter(draining context.Context) *limiter {
	return &limiter{draining: draining, bulk: semaphore.NewWeighted(bulkForwards)}
}

// admit lets a request in. A watch that would end at once, because the server shuts down, is refused: its client would
// list everything again.
func (l *limiter) admit(q *Request) error {
	if q.isWatch() && q.method == http.MethodGet && isRead(q.info) && l.draining.Err() != nil {
		return errDraining
	}
	return nil
}

// place takes a place among the requests that are passed through at a time; the caller gives it back by release. Only
// lists that may be of any size need one.
func (l *limiter) place(ctx context.Context, q *Request) (release func(), err error) {
	if !isBulk(q) {
		return func() {}, nil
	}
	defer q.Event.Waited(observe.Queueing, time.Now())
	waiting, cancel := context.WithTimeout(ctx, bulkWait)
	defer cancel()
	if l.bulk.Acquire(waiting, 1) == nil {
		return func() { l.bulk.Release(1) }, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, &notReadyError{cause: errBusy}
}

// isBulk tells a list that may be of any size.
func isBulk(q *Request) bool {
	limit := q.query.Get("limit")
	return q.info.Verb == verbList && q.info.Name == "" && (limit == "" || limit == "0")
}
