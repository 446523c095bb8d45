package wire

// Reader reads the upstream's responses about one kind. It splits lists and frames into objects, and scans each object
// for the facts that the cache needs. Immutable; safe for concurrent use.
type Reader interface {
	// List reads the body of a list and calls the function do for every object, in order. It returns the error of do.
	// It also returns an error when the body is not a list of complete objects.
	List(body []byte, do func(Item, Facts) error) (ListHead, error)
	Frame(frame []byte) (Frame, error)
	// Bookmark learns the format of the kind's bookmarks from a frame with a bookmark. On an error, which callers only
	// log, it also returns a minimal bookmark.
	Bookmark(frame []byte) (Bookmark, error)
	// Stored reads an item that AppendStored appended. by[n-1] is the dictionary with number n. Stored returns an error
	// unless the bytes are an object of the encoding. Packed bytes of the item alias the stored bytes.
	Stored(stored []byte, by []*Dictionary) (Item, Facts, error)
}

// ListHead is the metadata of a list. It does not alias the list.
type ListHead struct {
	ResourceVersion string
	Continue        string
	// Remaining is the number of objects on further pages; 0 if unknown.
	Remaining int64
	// Columns are the column definitions of a Table as the upstream wrote them; nil if the list is not a Table.
	Columns []byte
}

// The types of watch events.
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
	ResourceVersion string
	// Item and Facts describe the object of an ADDED, MODIFIED or DELETED event.
	Item  Item
	Facts Facts
	// InitialEventsEnd is true for the BOOKMARK that ends the initial events of a streaming list (KEP-3157).
	InitialEventsEnd bool
	// Columns are the column definitions of a Table as the upstream wrote them. They alias the frame, and are nil if
	// the frame is not a Table or omits them.
	Columns []byte
	Failure *Failure
}

// Failure is the Status of an ERROR event.
type Failure struct {
	Code int // status code; 0 if it is missing
	// Status is the complete Status, for logs. It may alias the frame.
	Status []byte
}
