package observe

import "time"

// Source says who gave an answer.
type Source string

// The sources. What is neither the cache's nor the upstream's is the facade's own: a refusal, its health, its metrics.
const (
	FromCache    Source = "cache"
	FromUpstream Source = "upstream"
	FromFacade   Source = "facade"
)

// Step is a part of a request's way on which it may have to wait.
type Step int

// The steps at which a request waits for somebody else.
const (
	Discovering Step = iota // for discovery, of a resource that is not known
	Authorizing             // for the authorizer
	Syncing                 // for a lane that is being filled
	Queueing                // for a place among the requests that are passed through
	Proving                 // for the proof that the cache is fresh, or for the version that was asked for
	Asking                  // for the upstream's answer, passed through or kept
	steps
)

// String returns the step's name in logs.
func (s Step) String() string {
	return [steps]string{"discovering", "authorizing", "syncing", "queueing", "proving", "asking"}[s]
}

// Event is all that is known of one request when it is over. It is filled as the request goes on, by the goroutine that
// answers it.
type Event struct {
	AuditID   string // in the answer's Audit-Id, and sent to the upstream with what is passed through
	Client    string // address and port
	UserAgent string
	User      string // in whose name the upstream is read; empty until authenticated

	Method, URI              string
	Verb                     string // of RequestInfo; empty when the path could not be read
	Group, Version, Resource string // as the path names them
	Subresource              string
	Scope                    string // resource (one object), namespace or cluster, as in kube-apiserver's metrics
	Namespace, Name          string
	// Selector is the shape of the selectors: what they ask of which fields and labels, without the values.
	Selector string
	// Discovered: the upstream's discovery knows the resource, and the subresource if there is one, so that their names
	// may become labels.
	Discovered bool

	Plan     string // what the resourceVersion means: MostRecent, Any, NotOlderThan, Exact ...
	Source   Source
	Reason   Reason // why the upstream had to answer; empty when it had not
	Looked   int    // objects whose facts were compared with what was asked for
	Returned int    // objects or watch events sent, bookmarks included

	Code  int
	Bytes int64 // of the body, after compression
	Began time.Time
	Took  time.Duration
	Waits [steps]time.Duration

	// Progress is what others see of the request while it is under way; nil where nobody looks. It holds all of the
	// answer, so who copies an Event leaves it out.
	Progress *Progress
}

// Waiting begins a step, and returns when.
func (e *Event) Waiting(step Step) time.Time {
	now := time.Now()
	if e.Progress != nil {
		e.Progress.pauses(pauseOf(step), now)
	}
	return now
}

// Waited adds the time since a step began, and ends it. Others see what Waiting began.
func (e *Event) Waited(step Step, since time.Time) {
	waited := time.Since(since)
	e.Waits[step] += waited
	if e.Progress != nil {
		e.Progress.resumes(pauseOf(step), waited)
	}
}

// Sink is told of each request when it is over. It must not keep the Event, and must be safe for concurrent use.
type Sink interface {
	Done(e *Event)
}

// Sinks tells several sinks.
type Sinks []Sink

// Done implements Sink.
func (s Sinks) Done(e *Event) {
	for _, sink := range s {
		sink.Done(e)
	}
}
