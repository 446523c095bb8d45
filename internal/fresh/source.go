package fresh

import (
	"context"

	"github.com/listfacade/listfacade/cache"
)

// Upstream is what is asked of the upstream as a whole.
type Upstream interface {
	// ServerVersion is the JSON of /version.
	ServerVersion(ctx context.Context) ([]byte, error)
	// HealthChecks is the text of /livez?verbose.
	HealthChecks(ctx context.Context) ([]byte, error)
}

// Source is what is asked of the upstream about one resource. Sources are compared: two that are equal ask about the
// same resource.
type Source interface {
	// ResourceVersion is the upstream's at some moment after the call began, as far as the resource can tell. It is
	// never below what the upstream sent of the resource before the call. An error that is ErrUnsupported will come
	// again; a *ThrottledError says that the upstream has too much to do.
	ResourceVersion(ctx context.Context) (cache.RV, error)
	// CallRoll reads the name and version of every object, consistently. An error that is ErrUnsupported will come
	// again.
	CallRoll(ctx context.Context) (*RollCall, error)
}

// Filler is what writes a lane.
type Filler interface {
	// ProgressWatch brings the lane up to date by a short watch of its own, which ends with the first bookmark. It returns
	// when that is written or the context ends; whether it succeeded, the lane shows.
	ProgressWatch(ctx context.Context)
	// SetBack says that the upstream is behind what the lane shows: it was restored, and the lane has to be listed
	// again.
	SetBack()
	// Contradicted says that the upstream has other objects than the lane at the very same version: one of them is
	// corrupt, or the upstream was restored from a backup. The lane has to be listed again.
	Contradicted()
	// Start runs work in the background until the lane stops, which ends the work's context; false when it is
	// stopping already.
	Start(work func(ctx context.Context)) bool
}

// Definition is what gives a custom resource's objects their form. A version says nothing of it: the upstream writes
// the same objects at the same versions in another form when it changes.
type Definition interface {
	// Readable reports whether the definition may be read at all.
	Readable() bool
	// Bytes is how large the definition is, as JSON; 0 before it was read.
	Bytes() int
	// Confirm asks the upstream whether the resource is defined as it was when the lane was filled; nil means that
	// it is, at some moment after the call began.
	Confirm(ctx context.Context) error
}

// Metrics is what proofs report; implementations must be safe for concurrent use.
type Metrics interface {
	// Questioned counts a question that proves lanes fresh: "probe", "roll-call", "progress-watch" or "definition".
	Questioned(kind string)
}
