package observe

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Source is the origin of a response.
type Source string

// Values of Source. FromFacade is the source of refusals, health and metrics.
const (
	FromCache    Source = "cache"
	FromUpstream Source = "upstream"
	FromFacade   Source = "facade"
)

// Step is a part of the work for a request. The facade measures the time of each step.
type Step int

// Values of Step. A request waits in all steps except Encoding, in which it works.
const (
	Discovering    Step = iota // waits for discovery, because the resource is unknown
	Authorizing                // waits for the authorizer
	Syncing                    // waits for a lane that is being filled
	Queueing                   // waits for a seat, or for its turn to forward
	Proving                    // waits for a freshness check, or for the requested resourceVersion
	Asking                     // waits for the upstream's response, which is forwarded or cached
	Authenticating             // waits for the authenticator
	Encoding                   // produces the bytes of the response
	Writing                    // waits for the client to accept bytes of the response
	Auditing                   // waits for the audit log, in its blocking modes
	steps
)

// String returns the step's name in logs.
func (s Step) String() string {
	return [steps]string{"discovering", "authorizing", "syncing", "queueing", "checking", "asking", "authenticating",
		"encoding", "writing", "auditing"}[s]
}

// Event describes one request. The goroutine of the request fills it. It is complete when the request has ended.
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
	// Discovered reports whether the upstream's discovery contains the resource and the subresource. Other names must not
	// become labels of metrics.
	Discovered bool

	Plan     string // meaning of the request's resourceVersion: MostRecent, Any, NotOlderThan or Exact
	Source   Source
	Reason   Reason // why the upstream answered, not the cache; empty if the cache or the facade answered
	Looked   int    // number of objects examined for the response
	Returned int    // number of objects or watch events sent, bookmarks included

	Encoding string // encoding of the lane that was read, json or protobuf; empty if no lane was read
	LaneRV   uint64 // resourceVersion of the lane that was read, or at which a watch begins; 0 if no lane was read
	Check    string // kind of the freshness check: fill, probe, roll-call or progress-watch; empty if none was needed

	// Decision is the authorizer's decision, and DecisionReason its reason. Both are empty until the decision is made.
	// PassedThrough reports whether the upstream authorizes the request instead.
	Decision       Decision
	DecisionReason string
	PassedThrough  bool
	// Status is the error with which the facade responded. It is nil for other responses, such as errors of the upstream.
	Status *metav1.Status
	// Panicked is the message of a panic that ended the request or terminated its response while the client was
	// connected; empty if there was none.
	Panicked string
	// Audited is the audit policy's decision about the request. Only the audit log uses this field.
	Audited Audited

	// Admitted reports whether the request passed the limits that precede authorization (Observer.Admitted).
	Admitted bool
	Code     int
	Bytes    int64 // of the body, after compression
	RawBytes int64 // of the body, before compression; 0 if the upstream compressed it
	// LongRunning reports whether kube-apiserver puts no limit on the request's duration, as for a watch or a log.
	LongRunning bool
	Started     time.Duration // time until the response to a long-running request began; 0 if it never began
	Lagged      time.Duration // longest lag of a watch; 0 if no lag was longer than --slow-watch-lag
	Stalled     bool          // long-running, and terminated because the client accepted nothing for --write-timeout
	Displaced   bool          // terminated to admit another response, because the client accepted nothing
	Yielded     bool          // long-running, and terminated to admit a watch of a caller with fewer watches
	Began       time.Time
	Took        time.Duration
	Waits       [steps]time.Duration

	// Progress is the part that other goroutines read while the request is in flight; nil if no goroutine does. A copy of
	// the Event must not contain the pointer, because it would keep the complete response in memory.
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

// Audited selects the audit events of a request that are logged.
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

// Waited ends a step that Waiting began, and adds the time since then to Waits.
func (e *Event) Waited(step Step, since time.Time) {
	waited := time.Since(since)
	e.Waits[step] += waited
	if e.Progress != nil {
		e.Progress.resumes(pauseOf(step), waited)
	}
}

// Encoded adds to the Encoding step the time since encoding began, minus the time of writes since then. written is the
// value of Waits[Writing] when the encoding began.
func (e *Event) Encoded(since time.Time, written time.Duration) {
	e.Waits[Encoding] += time.Since(since) - (e.Waits[Writing] - written)
}
