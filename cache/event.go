package cache

import (
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// EventType is the type of an event for one watcher. One change may be Added for one selector and Deleted for another.
type EventType uint8

const (
	// Added means that the object entered the watcher's selector, or that the event is an initial event.
	Added EventType = iota
	// Modified means that the object changed and is still selected.
	Modified
	// Deleted means that the object was deleted or left the watcher's selector (I7).
	Deleted
	// InitialEventsEnd follows the last initial event. It comes once, only in a watch that starts with InitialEvents,
	// and has no Object. A streaming list sends it as the annotated bookmark (semantics 4.3).
	InitialEventsEnd
)

// String returns the type as in a watch frame.
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	default:
		return "BOOKMARK"
	}
}

// Event is one event for a watcher. Object has the content and RV that the watcher receives (semantics 4.4).
type Event struct {
	Type   EventType
	Object *Object
	RV     RV
}

// SelectedBy converts e, an event of a watch without a predicate, to the event that a watch with predicate p receives.
// It returns false if that watch does not receive the event (I7). The argument before is the object as it was before
// the event, or nil. SelectedBy is for events that are not in history.
func (e Event) SelectedBy(p *selectors.Predicate, before *Object, shape wire.Shape) (Event, bool) {
	was := before != nil && p.Matches(&before.Attributes)
	is := e.Type != Deleted && p.Matches(&e.Object.Attributes)
	switch {
	case is && was:
		e.Type = Modified
	case is:
		e.Type = Added
	case was && e.Type != Deleted:
		e.Type, e.Object = Deleted, before.at(e.RV, shape)
	}
	return e, is || was
}

// ChangeKind is the kind of change that the upstream reported.
type ChangeKind uint8

const (
	// Upsert means that the object was created or changed.
	Upsert ChangeKind = iota
	// Delete means that the object was deleted.
	Delete
)

// Change is one upstream event. For a Delete, Object is the upstream's deletion object: the last content with the RV of
// the deletion.
type Change struct {
	Kind   ChangeKind
	Object *Object
}
