package observe

import (
	"slices"
	"sync"
	"time"
)

// A History reaches back a quarter of an hour, in steps of ten seconds.
const (
	HistoryStep  = 10 * time.Second
	HistorySteps = 90
)

// History is what the last minutes were like: requests and how long they took, what the upstream was asked and how it
// answered, which lanes were listed again. It takes 60 KB whatever happens. Safe for concurrent use; nil keeps nothing.
type History struct {
	mu      sync.Mutex // guards what follows; held for some tens of nanoseconds by whoever tells
	ring    [HistorySteps]moment
	relists map[relisted][]time.Time // the last of each resource, oldest first
	failure *UpstreamFailure
}

// moment is what one step keeps.
type moment struct {
	number int64 // steps since the Unix epoch; 0: nothing was told in it

	cache, upstream, facade uint32 // requests that are over, by who answered
	failed, refused         uint32 // of them, with 5xx but 501, and with 429
	took                    spread // of those that do not run long and that the cache or the upstream answered

	asked  [len(Questions)]questions
	waited spread // until the upstream began to answer; watches, which wait for a first event, and pass-throughs aside
	lost   uint32 // events of the audit log
}

// Questions are what the upstream is asked for, in the words that Asked is told.
var Questions = [...]string{"document", "passthrough", "probe", "read", "review", "watch"}

// questions are those of one kind.
type questions struct {
	all, unanswered, throttled, refused, failed uint32
	took, longest                               time.Duration // of those that were answered
}

type relisted struct{ group, resource string }

// keptRelists is how many of a resource's relists are remembered, and relistsWithin for how long.
const (
	keptRelists   = 16
	relistsWithin = 30 * time.Minute
)

// UpstreamFailure is the last question that the upstream did not answer well.
type UpstreamFailure struct {
	At      time.Time `json:"at"`
	Request string    `json:"request"`
	Code    int       `json:"code"` // 0: there was no answer
}

// NewHistory begins to remember.
func NewHistory() *History { return &History{relists: map[relisted][]time.Time{}} }

// now is the step that is under way. The mutex is held.
func (h *History) now(at time.Time) *moment {
	number := at.Unix() / int64(HistoryStep/time.Second)
	m := &h.ring[number%HistorySteps]
	if m.number != number {
		*m = moment{number: number}
	}
	return m
}

// Done implements Sink. What is asked about the facade itself is left out.
func (h *History) Done(e *Event) {
	if h == nil || e.Source == FromFacade && e.Resource == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.now(time.Now())
	switch e.Source {
	case FromCache:
		m.cache++
	case FromUpstream:
		m.upstream++
	default:
		m.facade++
	}
	switch {
	case e.Code == 429:
		m.refused++
	case e.Code >= 500 && e.Code != 501: // which is a request's fault, as 405 is
		m.failed++
	}
	if !e.LongRunning && e.Source != FromFacade {
		m.took.add(e.Took)
	}
}

// Asked tells of a question to the upstream: what for, the answer's code, 0 where there was none, and how long it took
// to begin.
func (h *History) Asked(request string, code int, took time.Duration) {
	kind := slices.Index(Questions[:], request)
	if h == nil || kind < 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := time.Now()
	m := h.now(at)
	m.asked[kind].add(code, took)
	if ours := request != "passthrough"; ours && code != 0 && request != "watch" {
		m.waited.add(took)
	}
	if code == 0 || code == 429 || code >= 500 || (code == 401 || code == 403) && request != "passthrough" {
		h.failure = &UpstreamFailure{At: at, Request: request, Code: code}
	}
}

func (q *questions) add(code int, took time.Duration) {
	q.all++
	switch {
	case code == 0:
		q.unanswered++
		return
	case code == 429:
		q.throttled++
	case code == 401 || code == 403:
		q.refused++
	case code >= 500:
		q.failed++
	}
	q.took += took
	q.longest = max(q.longest, took)
}

// Relisted tells of a lane that lost the upstream's window.
func (h *History) Relisted(group, resource string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := relisted{group, resource}
	times := append(h.relists[key], time.Now())
	h.relists[key] = times[max(0, len(times)-keptRelists):]
}

// Relists is how often a resource was listed again in the last half hour, at most 16, and when the last time was.
func (h *History) Relists(group, resource string) (times int, last time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, at := range h.relists[relisted{group, resource}] {
		if last = at; time.Since(at) < relistsWithin {
			times++
		}
	}
	return times, last
}

// AuditLost tells of events that are not in the audit log.
func (h *History) AuditLost(events int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now(time.Now()).lost += uint32(events)
}

// LastFailure is the last question that the upstream did not answer well; nil when there was none.
func (h *History) LastFailure() *UpstreamFailure {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure
}
