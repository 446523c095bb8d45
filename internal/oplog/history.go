package oplog

import (
	"slices"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// A History covers the last 15 minutes, in steps of ten seconds.
const (
	HistoryStep  = 10 * time.Second
	HistorySteps = 90
)

// History records requests with their durations, requests to the upstream with their results, relists, and lost audit
// events. It uses about 50 KB of memory. Safe for concurrent use. A nil History records nothing.
type History struct {
	observe.Ignore
	mu      sync.Mutex // guards the fields below; recording takes some tens of nanoseconds
	ring    [HistorySteps]moment
	relists map[relisted][]time.Time // the last relists of each resource, oldest first
	failure *UpstreamFailure
}

type moment struct {
	number int64 // steps since the Unix epoch; 0 if nothing was recorded

	cache, upstream, facade uint32 // requests that ended, by source
	failed, refused         uint32 // of the three numbers above: requests with 5xx except 501, and requests with 429
	took                    spread // durations of requests that are not long-running, from the cache or the upstream

	asked  [len(Questions)]questions
	waited spread // times until the upstream began to answer, except for watches and forwarded requests
	lost   uint32 // audit events that were lost
}

// Questions are the kinds of requests to the upstream, as passed to Asked.
var Questions = [...]string{"document", "passthrough", "probe", "read", "review", "watch"}

type questions struct {
	all, unanswered, throttled, refused, failed uint32
	took, longest                               time.Duration // of answered requests
}

type relisted struct{ group, resource string }

// keptRelists is the number of relists that are kept for each resource. relistsWithin is the maximum age of a relist
// that Relists counts.
const (
	keptRelists   = 16
	relistsWithin = 30 * time.Minute
)

// UpstreamFailure is a failed request to the upstream.
type UpstreamFailure struct {
	At      time.Time `json:"at"`
	Request string    `json:"request"`
	Code    int       `json:"code"` // 0 if there was no response
}

// NewHistory returns an empty History.
func NewHistory() *History { return &History{relists: map[relisted][]time.Time{}} }

// now returns the moment that contains a time. The caller holds mu.
func (h *History) now(at time.Time) *moment {
	number := at.Unix() / int64(HistoryStep/time.Second)
	m := &h.ring[number%HistorySteps]
	if m.number != number {
		*m = moment{number: number}
	}
	return m
}

// Done implements Observer. It ignores requests without a resource that the facade answers, such as health and metrics.
func (h *History) Done(e *observe.Event) {
	if h == nil || e.Source == observe.FromFacade && e.Resource == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.now(time.Now())
	switch e.Source {
	case observe.FromCache:
		m.cache++
	case observe.FromUpstream:
		m.upstream++
	default:
		m.facade++
	}
	switch {
	case e.Code == 429:
		m.refused++
	case e.Code >= 500 && e.Code != 501: // 501 is the fault of the request, like 405
		m.failed++
	}
	if !e.LongRunning && e.Source != observe.FromFacade {
		m.took.add(e.Took)
	}
}

// Asked records a request to the upstream. code is 0 if there was no response. took is the time until the response
// began.
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
	if request != "passthrough" && code != 0 && request != "watch" {
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

// Relisted records that a lane is listed again.
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

// Relists returns how often a resource was listed again in the last 30 minutes, at most 16, and the time of its last
// relist.
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

// AuditLost records audit events that were lost.
func (h *History) AuditLost(events int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now(time.Now()).lost += uint32(events)
}

// LastFailure returns the last failed request to the upstream; nil if there was none.
func (h *History) LastFailure() *UpstreamFailure {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure
}
