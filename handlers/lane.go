package handlers

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// Lanes is the set of lanes.
type Lanes interface {
	// Get returns the lane of a resource in an encoding. If there is none, Get starts a lane. If a lane is impossible, it
	// returns a *reflector.NoMemoryError, reflector.ErrAggregated or reflector.ErrStopped.
	Get(resource upstream.Resource, e wire.Encoding) (Lane, error)
}

// Lane is the part of a lane that requests use. It is safe for concurrent use.
type Lane interface {
	// Store returns the cache of the lane, with its States and watchers.
	Store() *cache.Lane
	laneFilling
	laneKind
	laneFreshness
	laneOlder
}

// laneFilling describes how the lane is filled with objects.
type laneFilling interface {
	// AwaitSync waits until the lane has a State. AwaitKind waits until it has its Kind. AwaitRelist waits until a
	// contradicted lane has been listed again. All return when the lane has failed, and no later than after wait.
	AwaitSync(ctx context.Context, wait time.Duration)
	AwaitKind(ctx context.Context, wait time.Duration)
	AwaitRelist(ctx context.Context, wait time.Duration)
	// FilledIn estimates the time until the lane has a State or is listed again.
	FilledIn() time.Duration
	// Failure returns the reason why the lane cannot be filled; nil if there is no failure.
	Failure() *reflector.Failure
	// Settling reports whether the upstream may still serve an older definition of the resource.
	Settling() bool
}

// laneKind describes the kind of the lane's objects.
type laneKind interface {
	// Kind returns the selectable fields of the objects; nil before the upstream has described the kind.
	Kind() *selectors.Kind
	// Undefined reports whether the facade cannot read the definition of a custom resource.
	Undefined() bool
	// Warnings returns the Warning headers of the upstream's responses.
	Warnings() []string
	// Bookmark returns the templates of bookmarks. It is not nil if the lane has a State.
	Bookmark() *wire.Bookmark
	// Marked reports whether the upstream has sent a bookmark.
	Marked() bool
}

// laneFreshness makes freshness checks. answer is the response that the upstream would have to send instead of the
// facade. The errors are those of package fresh, or the context's error.
type laneFreshness interface {
	// StaleFor returns for how long the upstream has not responded; 0 while it does.
	StaleFor() time.Duration
	// Contradicted reports whether the lane is known to be wrong, and is not listed again yet.
	Contradicted() bool
	// Listing returns the list from which the lane is filled at present. A read calls Listing before it reads a State, and
	// then calls Doubts with the result. Doubts reports whether that State is possibly wrong.
	Listing() *fresh.Listing
	Doubts(l *fresh.Listing) bool
	// Forwards reports whether the upstream may answer a read of a contradicted lane. If not, the read waits for the
	// lane's new list.
	Forwards(ctx context.Context, answer fresh.Answer) bool
	// Recent returns a State with all writes that finished before a request, which arrived at the given time.
	Recent(ctx context.Context, arrived time.Time, answer fresh.Answer) (*cache.State, fresh.Check, error)
	// Reach advances the lane to rv.
	Reach(ctx context.Context, rv cache.RV, answer fresh.Answer) error
	// Now returns the current resourceVersion of the upstream. The lane may be at a lower version.
	Now(ctx context.Context) (cache.RV, error)
	// Advance returns the current resourceVersion of the upstream, and begins to advance the lane to it.
	Advance(ctx context.Context) (cache.RV, error)
}

type laneOlder interface {
	// Older returns the events after a resourceVersion, up to a version from which the lane continues. It returns a
	// *cache.ExpiredError if the upstream no longer has the events. The caller must close the events.
	Older(ctx context.Context, after cache.RV, s reflector.Selection, turn reflector.Turn) (*reflector.OlderEvents, error)
}

// LanesOf returns Lanes whose Get calls get. L may be any type that implements Lane.
func LanesOf[L Lane](get func(resource upstream.Resource, e wire.Encoding) (L, error)) Lanes {
	return lanesOf[L](get)
}

type lanesOf[L Lane] func(resource upstream.Resource, e wire.Encoding) (L, error)

// Get implements Lanes.
func (get lanesOf[L]) Get(resource upstream.Resource, e wire.Encoding) (Lane, error) {
	lane, err := get(resource, e)
	if err != nil {
		return nil, err // lane would be an interface that contains a nil pointer
	}
	return lane, nil
}
