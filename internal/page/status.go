package page

import (
	"time"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
)

// Status is all that the page shows of one facade at one moment.
type Status struct {
	At       time.Time `json:"at"`
	Process  Process   `json:"process"`
	Problems []Problem `json:"problems"` // the worst first; the Page fills them in

	Lanes []Lane `json:"lanes"`
	// Clients are who took most in the last five minutes.
	Clients accounting.Ranking `json:"clients"`
	Watches observe.OpenList   `json:"watches"`
	// Behind are the watches that are behind most, whatever Watches are sorted by.
	Behind   []observe.Open   `json:"-"`
	Requests observe.OpenList `json:"requests"` // under way, and no watches
	Slow     observe.SlowList `json:"slow"`

	Memory       Memory        `json:"memory"`
	Limits       []Limit       `json:"limits"`
	Upstream     Upstream      `json:"upstream"`
	Certificates []Certificate `json:"certificates"`
	// Untrusted is why certificate authorities that certificates were verified by cannot be read; empty when all can.
	Untrusted string `json:"untrusted,omitempty"`
	// Health are the conditions of readiness.
	Health []Check `json:"health"`
	// History is the last quarter of an hour in steps of ten seconds, the oldest first.
	History []observe.Moment `json:"history"`
	Bounds  Bounds           `json:"bounds"`
}

// Process is who answers.
type Process struct {
	Name    string    `json:"name"` // of the machine or the pod
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Leaving: the end was asked for, and the process is not ready. Draining: watches end, too.
	Leaving  bool   `json:"leaving"`
	Draining bool   `json:"draining"`
	LogLevel string `json:"logLevel,omitempty"`
}

// Bounds are flags that what is wrong is judged by.
type Bounds struct {
	MaxStaleness time.Duration `json:"maxStaleness"` // --max-staleness; 0 is without end
	SlowWatchLag time.Duration `json:"slowWatchLag"` // --slow-watch-lag; 0: nothing is slow
	SlowRequest  time.Duration `json:"slowRequest"`  // --slow-request-threshold
	SelfAudit    time.Duration `json:"selfAudit"`    // --self-audit-interval; 0: nothing is compared
}

// State is what a lane does.
type State string

// The states of lanes.
const (
	Synced    State = "synced"
	Stale     State = "stale"     // it answers, and the upstream is not heard
	Syncing   State = "syncing"   // it is being filled for the first time
	Relisting State = "relisting" // it is being filled again
	Failing   State = "failing"   // it is not filled, and tried again
	Refused   State = "refused"   // the upstream does not let it be read; requests are passed on
	NoMemory  State = "no memory" // there is no room for it
)

// Lane is one resource in one encoding.
type Lane struct {
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	Encoding string `json:"encoding"`

	State State `json:"state"`
	// Why it is not synced; empty when it is.
	Why string `json:"why,omitempty"`
	// Filled of Expected objects have arrived of a list that fills it; Expected is 0 where nobody knows. LeftSeconds is an
	// estimate.
	Filled      int64   `json:"filled,omitempty"`
	Expected    int64   `json:"expected,omitempty"`
	LeftSeconds float64 `json:"leftSeconds,omitempty"`

	AgeSeconds      float64 `json:"ageSeconds"` // since the lane was made
	Objects         int     `json:"objects"`
	Bytes           int64   `json:"bytes"`  // of the objects as they came
	Memory          int64   `json:"memory"` // that they take, with indexes and history; less where they are packed
	ResourceVersion uint64  `json:"resourceVersion,omitempty"`
	// LastEventSeconds is how long ago the upstream's watch last brought a change; -1 when it has brought none.
	LastEventSeconds float64 `json:"lastEventSeconds"`
	StaleSeconds     float64 `json:"staleSeconds"` // since the upstream was last heard
	// Relists is how often the resource was listed again in the last half hour, and LastRelist when.
	Relists    int       `json:"relists"`
	LastRelist time.Time `json:"lastRelist,omitzero"`
	Watches    int       `json:"watches"`
	LagEvents  int64     `json:"lagEvents"` // that watches were not offered yet
	Expired    uint64    `json:"expired"`   // watches that ended because they were too slow, since the lane was made
	// AuditAgeSeconds is how long ago all objects had been compared with kube-apiserver; since the lane was made if never.
	AuditAgeSeconds float64 `json:"auditAgeSeconds"`
	// Differed is what the self-audit last found; null where it has found nothing since the lane was made, or
	// nothing any more of what the lane was not listed again for.
	Differed *Difference `json:"differed,omitempty"`
}

// Difference is objects of a lane that were not as kube-apiserver has them.
type Difference struct {
	At      time.Time `json:"at"`
	Objects int       `json:"objects"`
	Mended  bool      `json:"mended"` // the lane was listed again for it
}

// Name is the lane's resource as operators write it.
func (l *Lane) Name() string { return observe.ResourceName(l.Resource, l.Group, "") }

// Memory is the memory budget. Bytes all of them.
type Memory struct {
	Budget int64 `json:"budget"` // 0: none
	Used   int64 `json:"used"`   // that are no garbage
	Mapped int64 `json:"mapped"` // of the system, garbage included
	// Kinds are what takes memory, as far as it is counted; the rest of Used is the process' own.
	Kinds []Kind `json:"kinds"`
	// Refused is how often there was no memory for a request, since the start.
	Refused map[string]int64 `json:"refused"`
	// Relieved is how often something was let go, since the start.
	Relieved map[string]int64 `json:"relieved"`
}

// Kind is a part of memory.
type Kind struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Limit is how much may be under way at a time.
type Limit struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"` // requests, watches or MiB
	Taken   int64  `json:"taken"`
	All     int64  `json:"limit"` // 0: any number
	Waiting int    `json:"waiting"`
	Flag    string `json:"flag,omitempty"` // that sets it
}

// Upstream is the kube-apiserver that is read.
type Upstream struct {
	Endpoint string `json:"endpoint"` // the one that is asked
	// Endpoints are those of --upstream, where there are several.
	Endpoints []observe.Endpoint `json:"endpoints,omitempty"`
	// SilentSeconds is for how long it has answered nothing; 0 while it answers.
	SilentSeconds float64 `json:"unheardSeconds"`
	// LastError is why the last question that had no answer had none, and LastErrorAt when.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// LastFailure is the last answer that was none, or 401, 403, 429 or 5xx; null when there was none.
	LastFailure *observe.UpstreamFailure `json:"lastFailure"`
	// Questions are of the last five minutes.
	Questions []observe.Question `json:"questions"`
}

// Certificate is one that the facade shows.
type Certificate struct {
	Name     string    `json:"name"` // serving, or upstream for the one that it shows to kube-apiserver
	NotAfter time.Time `json:"notAfter"`
}

// Check is a condition of readiness.
type Check struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"` // empty when it holds
}

// Window is how far back clients and questions are counted.
const Window = 5 * time.Minute
