package oplog

import (
	"cmp"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

// Slow is a slow request or a lagging watch, as operators see it.
type Slow struct {
	At   time.Time `json:"at"`   // when SlowLog recorded it
	What string    `json:"what"` // message in the log: Slow request, Slow watch, Slow watch ended
	// TookSeconds is the duration of a request, or the lag of a watch.
	TookSeconds float64 `json:"tookSeconds"`

	AuditID   string `json:"auditID"`
	Client    string `json:"client"` // address
	User      string `json:"user"`
	UserAgent string `json:"userAgent"`
	Verb      string `json:"verb"`
	URI       string `json:"uri"`
	Resource  string `json:"resource,omitempty"` // with its group and subresource
	Scope     string `json:"scope,omitempty"`
	Code      int    `json:"code"`

	Mode    string `json:"resourceVersionMode,omitempty"`
	Source  string `json:"source"`
	Reason  string `json:"forwardReason,omitempty"`
	Lane    string `json:"lane,omitempty"`
	Check   string `json:"proof,omitempty"`
	Scanned int    `json:"objectsScanned"`
	Sent    int    `json:"objectsReturned"`
	Bytes   int64  `json:"wireBytes"`
	// Steps is the time per step in seconds, without steps that took no time. Longest is the step that took longest.
	Steps   map[string]float64 `json:"steps,omitempty"`
	Longest string             `json:"longest,omitempty"`
}

// SlowList is a list of recent slow requests.
type SlowList struct {
	Total int64  `json:"total"` // since the start; includes every report of a lagging watch
	Items []Slow `json:"items"`
}

// SlowOrders are the orders of a SlowList, each with the highest value first.
var SlowOrders = []string{"at", "took"}

// keptSlow is the number of requests kept, and shortText the maximum bytes of a URI or a user agent.
const (
	keptSlow  = 64
	shortText = 512
)

// slowRing keeps the last slow requests, and only the last report of each watch.
type slowRing struct {
	mu    sync.Mutex // guards the fields below
	items []Slow
	next  int
	total int64
}

// keep adds a request. It stores no reference to the Event.
func (r *slowRing) keep(what string, took time.Duration, e *observe.Event) {
	s := slowOf(what, took, e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	same := func(kept Slow) bool { return kept.AuditID == s.AuditID && kept.Client == s.Client }
	if i := slices.IndexFunc(r.items, same); i >= 0 && e.LongRunning {
		r.items[i] = s
		return
	}
	if len(r.items) < keptSlow {
		r.items = append(r.items, s)
		return
	}
	r.items[r.next] = s
	r.next = (r.next + 1) % keptSlow
}

func slowOf(what string, took time.Duration, e *observe.Event) Slow {
	address, _, err := net.SplitHostPort(e.Client)
	if err != nil {
		address = e.Client
	}
	s := Slow{
		At: time.Now(), What: what, TookSeconds: took.Seconds(), AuditID: e.AuditID, Client: address,
		User: observe.Printable(e.User, maxSlowName), UserAgent: observe.Printable(e.UserAgent, shortText),
		Verb:     observe.Printable(e.Verb, maxSlowName),
		URI:      observe.Printable(e.URI, shortText),
		Resource: observe.Printable(observe.ResourceName(e.Resource, e.Group, e.Subresource), maxSlowName),
		Scope:    e.Scope,
		Code:     e.Code, Mode: e.Plan, Source: string(e.Source), Reason: string(e.Reason),
		Lane:    observe.Printable(lane(e), maxSlowName),
		Check:   e.Check,
		Scanned: e.Looked, Sent: e.Returned, Bytes: e.Bytes,
	}
	longest := time.Duration(0)
	for step, wait := range e.Waits {
		if wait <= 0 {
			continue
		}
		if s.Steps == nil {
			s.Steps = map[string]float64{}
		}
		s.Steps[observe.Step(step).String()] = wait.Seconds()
		if wait > longest {
			longest, s.Longest = wait, observe.Step(step).String()
		}
	}
	return s
}

// Recent returns recent slow requests, sorted by one of SlowOrders. The argument most is their maximum number.
func (l *SlowLog) Recent(by string, most int) SlowList {
	l.kept.mu.Lock()
	list := SlowList{Total: l.kept.total, Items: slices.Clone(l.kept.items)}
	l.kept.mu.Unlock()
	slices.SortStableFunc(list.Items, func(a, b Slow) int {
		if by == "took" {
			return cmp.Compare(b.TookSeconds, a.TookSeconds)
		}
		return b.At.Compare(a.At)
	})
	list.Items = list.Items[:min(most, len(list.Items))]
	return list
}
