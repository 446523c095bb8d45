package fresh

import (
	"context"

	"github.com/listfacade/listfacade/cache"
)

// Upstream requests information about the upstream as a whole.
type Upstream interface {
	// ServerVersion returns the JSON of /version.
	ServerVersion(ctx context.Context) ([]byte, error)
	// HealthChecks returns the text of /livez?verbose.
	HealthChecks(ctx context.Context) ([]byte, error)
}

// Source requests information about one resource of the upstream. Sources are comparable. Equal Sources are for the
// same resource.
type Source interface {
	// ResourceVersion returns the upstream's resourceVersion at some moment after the call began, by a read of this
	// resource. Unless the upstream is restored, it is never below a version of the resource that the upstream sent
	// before the call. ErrUnsupported is permanent. A *ThrottledError is returned if the upstream throttles.
	ResourceVersion(ctx context.Context) (cache.RV, error)
	// CallRoll reads the name and version of every object by a consistent read. ErrUnsupported is permanent.
	CallRoll(ctx context.Context) (*RollCall, error)
}

// Filler is the writer of a lane.
type Filler interface {
	// ProgressWatch brings the lane up to date by a short, separate watch that ends with the first bookmark. It returns
	// when the writer has received everything from the watch, or when the context ends. The caller has to check whether
	// the lane has the wanted version.
	ProgressWatch(ctx context.Context)
	// Start runs work in the background, and ends its context when the lane stops. It returns false if the lane is
	// stopping.
	Start(work func(ctx context.Context)) bool
}

// Definition is the definition of a custom resource. When it changes, the upstream may represent the same object at the
// same resourceVersion differently.
type Definition interface {
	// Readable reports whether the facade may read the definition.
	Readable() bool
	// Bytes returns the size of the definition as JSON; 0 before it was read.
	Bytes() int
	// Confirm returns nil if the upstream still had, at some moment after the call began, the definition with which the
	// lane was filled.
	Confirm(ctx context.Context) error
}

// Metrics counts requests. Implementations must be safe for concurrent use.
type Metrics interface {
	// Questioned counts a request for a freshness check. kind is "probe", "roll-call", "progress-watch" or "definition".
	Questioned(kind string)
}
