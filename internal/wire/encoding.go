package wire

import "k8s.io/apimachinery/pkg/runtime/schema"

// Encoding contains everything that differs between the encodings of objects, such as JSON and protobuf. Each lane has
// one encoding. Encodings are comparable and immutable.
type Encoding interface {
	// Name returns the name in logs, metrics and keys, such as "json".
	Name() string
	// MediaType returns the Content-Type of a body, StreamType the Content-Type of a watch.
	MediaType() string
	StreamType() string
	Framing() Framing
	// BytesPerJSONByte returns the number of bytes in this encoding that cost the upstream as much as one byte in JSON.
	BytesPerJSONByte() int
	// Covers reports whether the encoding supports the kind, and selection by these fields.
	Covers(d Description, fields []Path) bool
	// RequestFormats returns the requests that the upstream may accept, in order of preference. After status 406, the
	// facade sends the next request.
	RequestFormats() []RequestFormat
	// Pages returns requests that read the data of ask page by page, and the reader of their responses.
	Pages(d Description, ask RequestFormat, fields []Path) Pages
	// Reader returns a reader of the responses to the request ask. For each object, it also reads the values of the given
	// fields, by which requests can select objects.
	Reader(d Description, ask RequestFormat, fields []Path) Reader
	// Shape returns the shape of responses about a kind. The shape contains only the properties that the description
	// determines.
	Shape(d Description) Shape
}

// RequestFormat is one kind of request for objects.
type RequestFormat struct {
	Accept string
	// Query contains the query parameters of both lists and watches.
	Query map[string]string
}

// Description contains the properties of a kind that an encoding needs before it reads an object.
type Description struct {
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	ListKind string
	Custom   bool
	// DatePaths maps the name of a custom resource's column of type date to its JSONPath. It lacks columns whose JSONPath
	// is unknown.
	DatePaths map[string]string
}
