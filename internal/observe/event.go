package observe

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Source says where a response came from.
type Source string

// The sources. FromFacade is for responses that come neither from the cache nor from the upstream: refusals, health and
// metrics.
const (
	FromCache    Source = "cache"
	FromUpstream Source = "upstream"
	FromFacade   Source = "facade"
)

// Step is a part of a request's processing whose time is measured.
type Step int

// The steps. A request waits in all of them except Encoding, in which it works.
const (
	Discovering    Step = iota // waits for discovery, for an unknown resource
	Authorizing                // waits for the authorizer
	Syncing                    // waits for a lane that is being filled
	Queueing                   // waits for a seat, or for its turn to forward
	Proving                    // waits for a freshness check, or for the requested resourceVersion
	Asking                     // waits for the upstream's response, which is forwarded or kept
	Authenticating             // waits for the authenticator
	Encoding                   // produces the bytes of the response
	Writing                    // waits for the client to accept bytes of the response
	Auditing                   // waits for the audit log, in its blocking modes
	steps
)

// String returns the step's name in logs.
func (s Step) String() string {
	return [steps]string{"discovering", "authorizing", "syncing", "queueing", "checking", "asking", "authenticating", "encoding", "writing", "auditing"}[s]
}

// Event describes one request. The goroutine that answers the request fills it, and it is complete when the request has
// ended.
type Event struct {
	AuditID   string // the Audit-Id header of the response, also sent to the upstream with forwarded requests
	Client    string // address and port
	UserAgent string
	User      string // name of the caller; empty until authenticated
	// Caller is the authenticated user; nil until authenticated.
	Caller user.Info
	// Header is the request's header, with the Audit-Id of the response.
	Header http.Header

	Method, URI, Path        string // Path is empty if the URI could not be parsed
	Verb                     string // of RequestInfo; empty if the path could not be parsed
	Group, Version, Resource string // as in the path
	Subresource              string
	Scope                    string // resource (one object), namespace or cluster, as in kube-apiserver's metrics
	Namespace, Name          string
	// Selector is the shape of the selectors: operators, fields and labels without values.
	Selector string
	// Discovered reports that the upstream's discovery contains the resource and the subresource. Only then may their
	// names become labels.
	Discovered bool

	Plan     string // meaning of the request's resourceVersion: MostRecent, Any, NotOlderThan, Exact ...
	Source   Source
	Reason   Reason // why the upstream had to answer; empty if it had not
	Looked   int    // objects compared with the selectors
	Returned int    // objects or watch events sent, bookmarks included

	Encoding string // encoding of the lane that was read, json or protobuf; empty if none was read
	LaneRV   uint64 // resourceVersion of the lane that the response shows or begins at; 0 if no lane was read
	Check    string // kind of the freshness check: fill, probe, roll-call or progress-watch; empty if none was needed

	// Decision is the authorizer's decision, and DecisionReason its reason; empty until it was made. PassedThrough
	// reports that the upstream decides.
	Decision       Decision
	DecisionReason string
	PassedThrough  bool
	// Status is the error with which the facade responded; nil if it did not, for example because the upstream did.
	Status *metav1.Status
	// Panicked is the message of a panic that ended the request or terminated its response while the client was
	// connected; empty if there was none.
	Panicked string
	// Audited is the audit policy's verdict on the request. Only the audit log uses it.
	Audited Audited

	Code     int
	Bytes    int64 // of the body, after compression
	RawBytes int64 // of the body, before compression; 0 if the upstream compressed it
	// LongRunning reports that kube-apiserver does not limit the request's duration: a watch or a log, for example.
	LongRunning bool
	Started     time.Duration // time until the response to a long-running request began; 0 if it did not
	Lagged      time.Duration // longest time that a watch lagged behind; 0 if never longer than --slow-watch-lag
	Stalled     bool          // long-running, and terminated because the client accepted nothing for --write-timeout
	Displaced   bool          // terminated in favour of another response, because the client accepted nothing
	Yielded     bool          // long-running, and terminated in favour of a caller with fewer watches
	Began       time.Time
	Took        time.Duration
	Waits       [steps]time.Duration

	// Progress is the part that other goroutines read while the request is in flight; nil if none does. It references
	// the complete response. A copy of the Event must not contain it.
	Progress *Progress
}

// Decision is the decision of the authorizer.
type Decision string

// The decisions, as in the audit log.
const (
	Undecided Decision = ""
	Allowed   Decision = "allow"
	Forbidden Decision = "forbid"
)

// Audited says what an audit log contains of a request.
type Audited struct {
	Level string // empty if the request is not logged
	Omits uint8  // one bit for each stage that is omitted
}

// Waiting begins a step and returns the time.
func (e *Event) Waiting(step Step) time.Time {
	now := time.Now()
	if e.Progress != nil {
		e.Progress.pauses(pauseOf(step), now)
	}
	return now
}

// Waited ends a step that Waiting began, and adds the time since then.
func (e *Event) Waited(step Step, since time.Time) {
	waited := time.Since(since)
	e.Waits[step] += waited
	if e.Progress != nil {
		e.Progress.resumes(pauseOf(step), waited)
	}
}

// Encoded adds the time since the encoding of the response began, minus the time that writing took meanwhile. written
// is the value of Waits[Writing] when the encoding began.
func (e *Event) Encoded(since time.Time, written time.Duration) {
	e.Waits[Encoding] += time.Since(since) - (e.Waits[Writing] - written)
}

// Sink receives the Event of each request when the request has ended. It must not keep the Event, and must be safe for
// concurrent use.
type Sink interface {
	Done(e *Event)
}

// Follower is a Sink that also receives requests in flight. Its methods must not keep the Event, and must be safe for
// concurrent use.
type Follower interface {
	Sink
	// Received is called after authentication, before any other work for the request. An error rejects the request.
	Received(e *Event) error
	// Answering is called when the response to a long-running request begins.
	Answering(e *Event)
	// Lagging is called repeatedly while a watch lags behind. The caller is not the goroutine of the request, which waits
	// for its client at that time.
	Lagging(e *Event, by Lag)
}

// Lag is how far a watch lags behind its lane.
type Lag struct {
	For    time.Duration // time since the watch had sent all events
	Sent   int           // events sent, bookmarks included; the client may not have received the last ones
	SentRV uint64        // resourceVersion up to which all events are sent; 0 while unknown
	LaneRV uint64        // resourceVersion of the lane
	// Initial reports that the initial events are still being sent.
	Initial bool
}

// Sinks passes Events to several sinks, and calls the methods of those that are Followers.
type Sinks []Sink

// Received implements Follower. It calls every Follower and returns the first error.
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

func (s Sinks) follow(call func(Follower)) {
	for _, sink := range s {
		if follower, ok := sink.(Follower); ok {
			call(follower)
		}
	}
}

// Done implements Sink.
func (s Sinks) Done(e *Event) {
	for _, sink := range s {
		sink.Done(e)
	}
}
