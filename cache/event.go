package cache

// EventType says what an event means to one watcher: the same change may enter one selector and leave another.
type EventType uint8

const (
	// Added says that the object entered what the watcher selects, or it is an initial event.
	Added EventType = iota
	// Modified says that the object changed and is still selected.
	Modified
	// Deleted says that the object is gone, or left what the watcher selects (I7).
	Deleted
	// InitialEventsEnd says that all initial events were returned. Comes once, only after the start InitialEvents, without
	// an Object; a streaming list answers it with the annotated bookmark (semantics 4.3).
	InitialEventsEnd
)

// String returns the type as it stands in a watch frame.
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

// Event is one thing that a watcher has to be told. Object already has the content and the resourceVersion that the
// watcher's predicate calls for (semantics 4.4).
type Event struct {
	Type   EventType
	Object *Object
	RV     RV
}

// ChangeKind is what the upstream reported about an object.
type ChangeKind uint8

const (
	// Upsert says that the object was created or changed.
	Upsert ChangeKind = iota
	// Delete says that the object is gone.
	Delete
)

// Change is one upstream event. For a Delete, Object is the upstream's deletion object: the last content under the
// RV of the deletion.
type Change struct {
	Kind   ChangeKind
	Object *Object
}
