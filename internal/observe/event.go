package observe

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Source says who gave an answer.
type Source string

// The sources. What is neither the cache's nor the upstream's is the facade's own: a refusal, its health, its metrics.
const (
	FromCache    Source = "cache"
	FromUpstream Source = "upstream"
	FromFacade   Source = "facade"
)

// Step is a part of a request's way that takes time, most of them because it may have to wait.
type Step int

// The steps at which a request waits for somebody else, and the one at which it works.
const (
	Discovering    Step = iota // for discovery, of a resource that is not known
	Authorizing                // for the authorizer
	Syncing                    // for a lane that is being filled
	Queueing                   // for a place among the requests that are passed through
	Proving                    // for the proof that the cache is fresh, or for the version that was asked for
	Asking                     // for the upstream's answer, passed through or kept
	Authenticating             // for the authenticator
	Encoding                   // not at all: what the answer's bytes took to make
	Writing                    // for the client, to accept the answer's bytes
	Auditing                   // for the audit log, where requests wait for it
	steps
)

// String returns the step's name in logs.
func (s Step) String() string {
	return [steps]string{"discovering", "authorizing", "syncing", "queueing", "proving", "asking", "authenticating", "encoding", "writing", "auditing"}[s]
}

// Event is all that is known of one request when it is over. It is filled as the request goes on, by the goroutine that
// answers it.
type Event struct {
	AuditID   string // in the answer's Audit-Id, and sent to the upstream with what is passed through
	Client    string // address and port
	UserAgent string
	User      string // in whose name the upstream is read; empty until authenticated
	// Caller is all that is known of who asks; nil until authenticated.
	Caller user.Info
	// Header is what the client sent, with the Audit-Id that the answer has.
	Header http.Header

	Method, URI, Path        string // the path as it was read, empty where it could not be
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

	Encoding string // json or protobuf, of the lane that was read; empty when none was
	LaneRV   uint64 // the resourceVersion of the lane that the answer shows, or begins at; 0 when none was read
	Check    string // how the lane was proven fresh: fill, probe, rollcall or fence; empty when it had not to be

	// Decision is what the authorizer said, and DecisionReason why; nothing until it was asked. PassedThrough: it is the
	// upstream that decides.
	Decision       Decision
	DecisionReason string
	PassedThrough  bool
	// Status is the error that the facade answered with; nil when it did not, as when the upstream did.
	Status *metav1.Status
	// Panicked is what a panic said that ended the request, or broke its answer off while the client was there; empty
	// when none did.
	Panicked string
	// Audited is what is to be written of the request into the audit log. It is the audit log's.
	Audited Audited

	Code     int
	Bytes    int64 // of the body, after compression
	RawBytes int64 // of the body, before compression; 0 when the upstream compressed it
	// LongRunning: kube-apiserver does not bound its time either, as a watch's or a log's.
	LongRunning bool
	Started     time.Duration // until the answer to a long-running request began; 0 when it did not
	Lagged      time.Duration // the longest time that a watch was behind, if it was for longer than --slow-watch-lag
	Stalled     bool          // it ran long and was broken off, because its client accepted nothing for --write-timeout
	Displaced   bool          // it was broken off for another's sake, because its client accepted nothing
	Yielded     bool          // it ran long and ended for another's sake, because its caller had most of all places
	Began       time.Time
	Took        time.Duration
	Waits       [steps]time.Duration

	// Progress is what others see of the request while it is under way; nil where nobody looks. It holds all of the
	// answer, so who copies an Event leaves it out.
	Progress *Progress
}

// Decision is what the authorizer said.
type Decision string

// The decisions, as the audit log has them.
const (
	Undecided Decision = ""
	Allowed   Decision = "allow"
	Forbidden Decision = "forbid"
)

// Audited says what of a request is written into an audit log.
type Audited struct {
	Level string // empty when nothing is
	Omits uint8  // a bit for each stage that is left out
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

// Encoded adds the time since the answer's bytes began to be made, less what the client took to accept them. written is
// what Waits[Writing] was then.
func (e *Event) Encoded(since time.Time, written time.Duration) {
	e.Waits[Encoding] += time.Since(since) - (e.Waits[Writing] - written)
}

// Sink is told of each request when it is over. It must not keep the Event, and must be safe for concurrent use.
type Sink interface {
	Done(e *Event)
}

// Follower is a Sink that is told of requests while they go on, too, each time by the goroutine of the request. It must
// not keep the Event, and must be safe for concurrent use.
type Follower interface {
	Sink
	// Received is told of a request when it is known who asks, before anything is done for it. An error refuses it.
	Received(e *Event) error
	// Answering is told when the answer to a long-running request begins.
	Answering(e *Event)
	// Lagging is told of a watch that is behind, again and again while it is. The goroutine of the request waits for its
	// client meanwhile, and Lagging is called by another.
	Lagging(e *Event, by Lag)
}

// Lag is how far a watch is behind its lane.
type Lag struct {
	For    time.Duration // since it had everything
	Sent   int           // events that were sent, bookmarks included; the last of them may still be on their way
	SentRV uint64        // up to which version it was sent everything; 0 while that is not known
	LaneRV uint64        // which version its lane is at
	// Initial: its initial events are still being sent.
	Initial bool
}

// Sinks tells several sinks, and those of them that are Followers more.
type Sinks []Sink

// Received implements Follower. The first error counts, and all are told.
func (s Sinks) Received(e *Event) (err error) {
	s.follow(func(f Follower) {
		if refused := f.Received(e); err == nil {
			err = refused
		}
	})
	return err
}

// Answering implements Follower.
func (s Sinks) Answering(e *Event) { s.follow(func(f Follower) { f.Answering(e) }) }

// Lagging implements Follower.
func (s Sinks) Lagging(e *Event, by Lag) { s.follow(func(f Follower) { f.Lagging(e, by) }) }

func (s Sinks) follow(tell func(Follower)) {
	for _, sink := range s {
		if follower, ok := sink.(Follower); ok {
			tell(follower)
		}
	}
}

// Done implements Sink.
func (s Sinks) Done(e *Event) {
	for _, sink := range s {
		sink.Done(e)
	}
}
