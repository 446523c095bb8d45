package observe

import (
	"net/url"
	"time"
)

// Open is a request in flight, as operators see it. Fields that are not known yet are empty.
type Open struct {
	AuditID    string  `json:"auditID"`
	AgeSeconds float64 `json:"ageSeconds"`
	Client     string  `json:"client"` // address and port
	User       string  `json:"user"`
	UserAgent  string  `json:"userAgent"`

	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"` // for paths without a resource, the path
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`

	LabelSelector        string `json:"labelSelector,omitempty"`
	FieldSelector        string `json:"fieldSelector,omitempty"`
	ResourceVersion      string `json:"resourceVersion,omitempty"`
	ResourceVersionMatch string `json:"resourceVersionMatch,omitempty"`
	Limit                string `json:"limit,omitempty"`
	Mode                 string `json:"resourceVersionMode,omitempty"`
	Source               string `json:"source,omitempty"`
	Reason               string `json:"forwardReason,omitempty"`

	// State is the name of the Step in which the request waits, or writing, working, or idle (a watch that has sent all
	// events). WaitsFor is the cause of the wait: client, upstream, facade or events; empty if there is none.
	State        string  `json:"state"`
	StateSeconds float64 `json:"stateSeconds"`
	WaitsFor     string  `json:"waitsFor,omitempty"`
	Bytes        int64   `json:"bytes"`

	*OpenWatch
}

// OpenWatch is the additional data of a watch.
type OpenWatch struct {
	Events int64 `json:"events"` // sent, bookmarks included; 0 if the upstream answers
	// At is the resourceVersion up to which the watch has been sent all events; 0 if the upstream answers.
	At uint64 `json:"atResourceVersion,omitempty"`
	// LagEvents is the approximate number of pending events. LagSeconds is how long events have been pending.
	LagEvents  int64   `json:"lagEvents"`
	LagSeconds float64 `json:"lagSeconds"`
}

// Maximum bytes of a text that is shown, and of a URI that is parsed.
const (
	mostShown = 256
	mostURI   = 4 << 10
)

func (p *Progress) isWatch() bool { return p.settled.Load() >= known && p.event.Verb == "watch" }

func (p *Progress) open() Open {
	settled, e := p.settled.Load(), p.event
	age := time.Since(e.Began)
	o := Open{
		AuditID: e.AuditID, AgeSeconds: age.Seconds(), Client: e.Client, UserAgent: Printable(e.UserAgent, mostShown),
		Verb: Printable(e.Method, mostShown), Bytes: p.bytes.Load(),
	}
	o.State, o.StateSeconds, o.WaitsFor = p.state(age)
	if settled < known {
		return o
	}
	o.describe(e)
	if settled >= answering {
		o.Mode, o.Source, o.Reason = e.Plan, string(e.Source), string(e.Reason)
	}
	if p.isWatch() {
		o.OpenWatch = p.watch(settled, age)
	}
	return o
}

func (o *Open) describe(e *Event) {
	o.User, o.Verb = Printable(e.User, mostShown), Printable(e.Verb, mostShown)
	o.Group, o.Version, o.Resource = Printable(e.Group, mostShown), Printable(e.Version, mostShown),
		Printable(e.Resource, mostShown)
	o.Subresource, o.Namespace, o.Name = Printable(e.Subresource, mostShown), Printable(e.Namespace, mostShown),
		Printable(e.Name, mostShown)
	uri := e.URI
	if len(uri) > mostURI {
		o.LabelSelector = "(not shown: the URL is long)"
		return
	}
	parsed, err := url.ParseRequestURI(uri)
	if err != nil {
		return
	}
	if e.Resource == "" {
		o.Resource = Printable(parsed.Path, mostShown)
	}
	query := parsed.Query()
	for name, to := range map[string]*string{
		"labelSelector": &o.LabelSelector, "fieldSelector": &o.FieldSelector, "resourceVersion": &o.ResourceVersion,
		"resourceVersionMatch": &o.ResourceVersionMatch, "limit": &o.Limit,
	} {
		*to = Printable(query.Get(name), mostShown)
	}
}

func (p *Progress) state(age time.Duration) (state string, seconds float64, waitsFor string) {
	what, since := unpacked(p.pause.Load())
	seconds = max(age-since, 0).Seconds()
	switch what {
	case noPause:
		return "working", 0, ""
	case resting:
		return "idle", seconds, "events"
	case writing:
		return "writing", seconds, "client"
	}
	step := Step(what - 1)
	if step == Queueing || step == Auditing {
		return step.String(), seconds, "facade"
	}
	return step.String(), seconds, "upstream"
}

func (p *Progress) watch(settled phase, age time.Duration) *OpenWatch {
	w := &OpenWatch{Events: p.events.Load(), LagSeconds: p.lag(settled, age).Seconds()}
	if settled >= answering && p.cursor != nil {
		w.At, w.LagEvents = p.cursor.Position(), p.cursor.Behind()
	}
	return w
}

// lag returns how long events have been pending for a watch. If the upstream answers the watch, lag returns the
// duration of the current blocked write to the client.
func (p *Progress) lag(settled phase, age time.Duration) time.Duration {
	what, since := unpacked(p.pause.Load())
	switch {
	case what == writing && (settled < answering || p.cursor == nil):
		return max(age-since, 0)
	case what == resting || settled < answering || p.cursor == nil:
		return 0
	}
	return max(age-time.Duration(p.woken.Load()), 0)
}
