package observe

import (
	"cmp"
	"net"
	"slices"
	"sync"
	"time"
)

// Slow is a request that was slow, or a watch that was behind, as operators are shown it.
type Slow struct {
	At   time.Time `json:"at"`   // when it was noticed
	What string    `json:"what"` // as the log's line begins: slow request, slow watch, slow watch ended
	// TookSeconds is how long it took; of a watch, how long it was behind.
	TookSeconds float64 `json:"tookSeconds"`

	AuditID   string `json:"auditID"`
	Client    string `json:"client"` // address
	User      string `json:"user"`
	UserAgent string `json:"userAgent"`
	Verb      string `json:"verb"`
	URI       string `json:"uri"`
	Resource  string `json:"resource,omitempty"` // with its group
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
	// Steps are the parts of its time in seconds, of those that took any, and Longest is the one that took most.
	Steps   map[string]float64 `json:"steps,omitempty"`
	Longest string             `json:"longest,omitempty"`
}

// SlowList is what was slow lately.
type SlowList struct {
	Total int64  `json:"total"` // since the start; a watch that is behind counts again and again
	Items []Slow `json:"items"`
}

// SlowOrders are what a SlowList is sorted by, the highest first.
var SlowOrders = []string{"at", "took"}

// keptSlow is how many are kept, and shortText how many bytes of a URI and of a user agent.
const (
	keptSlow  = 64
	shortText = 512
)

// slowRing keeps the last that were slow. Of a watch that stays behind only the last line is kept.
type slowRing struct {
	mu    sync.Mutex // guards what follows
	items []Slow
	next  int
	total int64
}

// keep remembers one. It does not keep the Event.
func (r *slowRing) keep(what string, took time.Duration, e *Event) {
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

func slowOf(what string, took time.Duration, e *Event) Slow {
	address, _, err := net.SplitHostPort(e.Client)
	if err != nil {
		address = e.Client
	}
	s := Slow{
		At: time.Now(), What: what, TookSeconds: took.Seconds(), AuditID: e.AuditID, Client: address,
		User: Printable(e.User, maxSlowName), UserAgent: Printable(e.UserAgent, shortText), Verb: Printable(e.Verb, maxSlowName),
		URI: Printable(e.URI, shortText), Resource: Printable(ResourceName(e.Resource, e.Group, e.Subresource), maxSlowName), Scope: e.Scope,
		Code: e.Code, Mode: e.Plan, Source: string(e.Source), Reason: string(e.Reason), Lane: Printable(lane(e), maxSlowName), Check: e.Check,
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
		s.Steps[Step(step).String()] = wait.Seconds()
		if wait > longest {
			longest, s.Longest = wait, Step(step).String()
		}
	}
	return s
}

// Recent returns the last that were slow, by one of SlowOrders; at most so many.
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
