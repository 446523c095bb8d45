package wire

// Reader reads what the upstream answers about one kind: it cuts lists and frames into objects and scans what the cache
// has to know of each. It is not changed by what it reads; safe for concurrent use.
type Reader interface {
	// List reads a list's body; each is called with every object in order. It fails with the error of each, or when the
	// body is no list of whole objects.
	List(body []byte, each func(Item, Facts) error) (ListHead, error)
	// Frame reads a frame of a watch.
	Frame(frame []byte) (Frame, error)
	// Bookmark learns from a frame with a bookmark what bookmarks of the kind look like. With an error, which is for a
	// log, it returns the least that every bookmark has.
	Bookmark(frame []byte) (Bookmark, error)
}

// ListHead is what a list says besides its objects. It does not alias the list.
type ListHead struct {
	ResourceVersion string
	Continue        string
	// Remaining is how many objects follow in further pages; 0 when that is not told.
	Remaining int64
	// Columns are those of a Table as the upstream wrote them; nil when it is none.
	Columns []byte
}

// The types of a watch's events.
const (
	TypeAdded    = "ADDED"
	TypeModified = "MODIFIED"
	TypeDeleted  = "DELETED"
	TypeBookmark = "BOOKMARK"
	TypeError    = "ERROR"
)

// Frame is one event of a watch.
type Frame struct {
	Type            string
	ResourceVersion string // the object's
	// Item and Facts are the object of an event about one: ADDED, MODIFIED or DELETED.
	Item  Item
	Facts Facts
	// InitialEventsEnd tells that a BOOKMARK ends the initial events of a streaming list (KEP-3157).
	InitialEventsEnd bool
	// Columns are those of a Table as the upstream wrote them, aliasing the frame; nil when it is none, or does not
	// repeat them.
	Columns []byte
	// Failure is what an ERROR says.
	Failure *Failure
}

// Failure is the Status of an ERROR event.
type Failure struct {
	Code int // 0 when it says none
	// Status is the whole, encoded, for a log. It aliases the frame.
	Status []byte
}
