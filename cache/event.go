package cache

import (
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// EventType is the type of an event for one watcher. The same change may enter one selector and leave another.
type EventType uint8

const (
	// Added means that the object entered the watcher's selector, or that the event is an initial event.
	Added EventType = iota
	// Modified means that the object changed and is still selected.
	Modified
	// Deleted means that the object was deleted or left the watcher's selector (I7).
	Deleted
	// InitialEventsEnd follows the last initial event. It comes once, only in a watch that starts with InitialEvents, and
	// has no Object. A streaming list sends the annotated bookmark for it (semantics 4.3).
	InitialEventsEnd
)

// String returns the type as a watch frame spells it.
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

// Event is one event for a watcher. Object already has the content and resourceVersion that the watcher's predicate
// requires (semantics 4.4).
type Event struct {
	Type   EventType
	Object *Object
	RV     RV
}

// SelectedBy returns the event as a watch with predicate p receives it; false if the watch does not receive it (I7). e
// is the event of a watch without a predicate. before is the object before the event, or nil. SelectedBy is for events
// that are not in history.
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
