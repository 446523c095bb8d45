package page

import (
	"time"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// Status is the state of one facade at one moment.
type Status struct {
	At       time.Time `json:"at"`
	Process  Process   `json:"process"`
	Problems []Problem `json:"problems"` // worst first; set by the Page
	// Repository is the URL of the repository's files, without a slash at its end; empty if it is unknown.
	Repository string `json:"-"`

	Lanes []Lane `json:"lanes"`
	// Clients are the most expensive clients of the last five minutes.
	Clients accounting.Ranking `json:"clients"`
	Watches observe.OpenList   `json:"watches"`
	// Behind are the watches with the largest lag, independent of the order of Watches.
	Behind   []observe.Open   `json:"-"`
	Requests observe.OpenList `json:"requests"` // in flight, without watches
	Slow     oplog.SlowList   `json:"slow"`

	Memory   Memory   `json:"memory"`
	Limits   []Limit  `json:"limits"`
	Upstream Upstream `json:"upstream"`
	// Saved is the work that the facade saved kube-apiserver since the start.
	Saved        metrics.Saved `json:"saved"`
	Certificates []Certificate `json:"certificates"`
	// Untrusted is the error of reading CA certificates that verify callers; empty if there is none.
	Untrusted string  `json:"untrusted,omitempty"`
	Health    []Check `json:"health"`
	// History is the last 15 minutes in steps of ten seconds, oldest first.
	History []oplog.Moment `json:"history"`
	Journal *Journal       `json:"journal,omitempty"` // nil without a journal
	Bounds  Bounds         `json:"bounds"`
}

// Process identifies the replica that answers.
type Process struct {
	Name    string    `json:"name"` // hostname of the machine or pod
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Leaving reports whether the process is shutting down and is not ready. Draining reports whether the process ends
	// its watches.
	Leaving  bool   `json:"leaving"`
	Draining bool   `json:"draining"`
	LogLevel string `json:"logLevel,omitempty"`
}

// Journal is the state of the journal on disk.
type Journal struct {
	Dir        string  `json:"dir"`
	Open       bool    `json:"open"` // whether this process writes the journal
	LagSeconds float64 `json:"lagSeconds"`
	Bytes      int64   `json:"bytes"`
	Over       bool    `json:"over"` // whether the newest files alone exceed --journal-max-bytes
}

// Bounds are the values of flags that problems depend on.
type Bounds struct {
	MaxStaleness time.Duration `json:"maxStaleness"` // --max-staleness; 0 means no limit
	SlowWatchLag time.Duration `json:"slowWatchLag"` // --slow-watch-lag; 0 means that no watch is slow
	SlowRequest  time.Duration `json:"slowRequest"`  // --slow-request-threshold; 0 means that no request is slow
	SelfAudit    time.Duration `json:"selfAudit"`    // --self-audit-interval; 0 means that nothing is compared
}

// State is the state of a lane.
type State string

// Values of State.
const (
	Synced    State = "synced"
	Stale     State = "stale"     // the lane serves reads, but receives no messages from the upstream
	Syncing   State = "syncing"   // the lane is being filled for the first time
	Relisting State = "relisting" // the lane is being filled again
	Failing   State = "failing"   // the last attempt to fill the lane failed, and will be retried
	Refused   State = "refused"   // the lane ended; requests are forwarded or refused
	NoMemory  State = "no memory" // there is not enough memory for the lane
)

// Lane is one resource in one encoding.
type Lane struct {
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	Encoding string `json:"encoding"`

	State State `json:"state"`
	// Why is the reason why the lane is not synced; empty if the lane is synced, or the reason is unknown.
	Why string `json:"why,omitempty"`
	// Filled is the number of objects received so far from the list that fills the lane. Expected is the list's total and
	// LeftSeconds the list's remaining time, both estimated; 0 if unknown.
	Filled      int64   `json:"filled,omitempty"`
	Expected    int64   `json:"expected,omitempty"`
	LeftSeconds float64 `json:"leftSeconds,omitempty"`

	AgeSeconds      float64 `json:"ageSeconds"` // since the lane was created
	Objects         int     `json:"objects"`
	Bytes           int64   `json:"bytes"`  // size of the objects as the upstream sent them
	Memory          int64   `json:"memory"` // bytes of memory: objects, indexes, history and an unfinished list
	ResourceVersion uint64  `json:"resourceVersion,omitempty"`
	// LastEventSeconds is the time since the lane's watch of the upstream last received a change; -1 if there was none.
	LastEventSeconds float64 `json:"lastEventSeconds"`
	StaleSeconds     float64 `json:"staleSeconds"` // since the last message of the upstream; 0 while the watch is healthy
	// Relists is how often the resource was listed again in the last 30 minutes. LastRelist is the time of the last
	// relist.
	Relists    int       `json:"relists"`
	LastRelist time.Time `json:"lastRelist,omitzero"`
	Watches    int       `json:"watches"`
	LagEvents  int64     `json:"lagEvents"` // events that were not offered to watches yet
	Expired    uint64    `json:"expired"`   // watches that ended because of slow clients, since the lane was created
	// AuditAgeSeconds is the time since the self-audit last compared all objects, or since the lane was created if the
	// self-audit never did.
	AuditAgeSeconds float64 `json:"auditAgeSeconds"`
	// Differed is the last difference that the self-audit found since the lane was created; null if there is none. If
	// the lane was not listed again, a later comparison without a difference sets Differed to null.
	Differed *Difference `json:"differed,omitempty"`
}

// Difference describes objects of a lane that differed from kube-apiserver.
type Difference struct {
	At       time.Time `json:"at"`
	Objects  int       `json:"objects"`
	Relisted bool      `json:"relisted"` // the lane was listed again because of the difference
}

// Name returns the lane's resource with its group: deployments.apps.
func (l *Lane) Name() string { return observe.ResourceName(l.Resource, l.Group, "") }

// Memory is the state of the memory budget, in bytes.
type Memory struct {
	Budget int64 `json:"budget"` // 0 means no limit
	Used   int64 `json:"used"`   // without garbage
	Mapped int64 `json:"mapped"` // mapped by the Go runtime, garbage included
	// Kinds are the accounted parts of Used.
	Kinds []Kind `json:"kinds"`
	// Refused is the number of requests refused for lack of memory since the start, by purpose.
	Refused map[string]int64 `json:"refused"`
	// Relieved is the number of times that memory was freed since the start, by step.
	Relieved map[string]int64 `json:"relieved"`
}

// Kind is a part of memory.
type Kind struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Limit is a concurrency limit and its current use.
type Limit struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"` // requests, responses, watches or MiB
	Taken   int64  `json:"taken"`
	All     int64  `json:"limit"` // 0 means no limit
	Waiting int    `json:"waiting"`
	Flag    string `json:"flag,omitempty"` // name of the flag that sets the limit
}

// Upstream is the state of the upstream kube-apiserver.
type Upstream struct {
	Endpoint string `json:"endpoint"` // address of the endpoint in use
	// Endpoints are the endpoints of --upstream, if there are several.
	Endpoints []metrics.Endpoint `json:"endpoints,omitempty"`
	// SilentSeconds is the time without a response; 0 while the upstream responds.
	SilentSeconds float64 `json:"unheardSeconds"`
	// LastError is the error of the last request without a response, and LastErrorAt its time.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// LastFailure is the last request with no response, or with 429 or 5xx. For the facade's own requests, 401 and 403 are
	// failures, too. LastFailure is null if there was none.
	LastFailure *oplog.UpstreamFailure `json:"lastFailure"`
	// Questions are the requests to the upstream in the last five minutes, by kind.
	Questions []oplog.Question `json:"questions"`
}

// Certificate is a certificate that the facade presents.
type Certificate struct {
	Name     string    `json:"name"` // serving, or upstream for the client certificate that kube-apiserver receives
	NotAfter time.Time `json:"notAfter"`
}

// Check is a readiness check.
type Check struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"` // empty if the check succeeds
}

// Window is the period for which clients and requests to the upstream are counted.
const Window = 5 * time.Minute
