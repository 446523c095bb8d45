package wire

import "k8s.io/apimachinery/pkg/runtime/schema"

// Encoding is all that differs between objects in JSON and objects in another encoding. Each lane is of one. Encodings
// are comparable and immutable.
type Encoding interface {
	// Name is a word for logs, metrics and keys: "json".
	Name() string
	// MediaType is the Content-Type of a body, StreamType that of a watch.
	MediaType() string
	StreamType() string
	// Framing is how the frames of its watches stand one behind the other.
	Framing() Framing
	// Covers tells whether objects of a kind that is selected by these fields can be read and written.
	Covers(d Description, fields []Path) bool
	// Asks are the ways to ask the upstream for objects, the best first. Who is refused one by 406 takes the next.
	Asks() []Ask
	// Pages is how the upstream is asked for lists of what one of the asks brings; for one listing.
	Pages(d Description, ask Ask, fields []Path) Pages
	// Reader reads the answers to one of the asks; fields are those that objects are selected by.
	Reader(d Description, ask Ask, fields []Path) Reader
	// Shape is what answers about a kind look like as far as its description tells.
	Shape(d Description) Shape
}

// Ask is a way to ask the upstream for objects.
type Ask struct {
	Accept string
	// Query are parameters that it takes, in lists and in watches alike.
	Query map[string]string
}

// Description is what an encoding has to know of a kind before it sees an object.
type Description struct {
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	ListKind string
	// Custom tells a custom resource from a kind that is built into a server.
	Custom bool
	// DatePaths are the JSONPaths of a custom resource's columns of type date, by the column's name, as far as they are
	// known.
	DatePaths map[string]string
}
