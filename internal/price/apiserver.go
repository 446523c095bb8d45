package price

// CPU of kube-apiserver in seconds, for work that does not depend on the size of objects.
const (
	// Request is the price of a GET of one small object, or of a refusal: GET a namespace by a token, 750 µs
	// (docs/benchmarks/callers.txt). GET a pod is between 517 µs for one of 64 clients and 1.70 ms for a single client
	// (docs/benchmarks.md), because an idle process has costs that a busy one shares.
	Request = 750e-6
	// Open is the price of opening a watch: 368 to 523 µs where watches share connections (docs/benchmarks/watches.txt).
	Open = 430e-6
	// Probe is the price of a freshness check: 2.44 ms behind a consistent list of all pods, and 2.30 ms behind its first
	// page (docs/benchmarks.md, kube-apiserver behind it).
	Probe = 2.4e-3
	// Review is the price of a TokenReview or SubjectAccessReview: a small request with a small body.
	Review = Request
	// Examined is the price of comparing an object with selectors that no index of kube-apiserver answers. LIST a label
	// (0.5 % of the pods) takes 36.5 ms (docs/benchmarks.md), of which 100 returned pods explain 20 ms.
	Examined = 0.8e-6
	// Write is the price of a write without the object's bytes: a lease is 1.20 to 1.41 ms (docs/benchmarks/nodes.txt).
	Write = 1.2e-3
	// WrittenByte is the price of a stored byte of a written object: a pod is 6.7 to 9.3 ms
	// (docs/benchmarks/watches.txt).
	WrittenByte = 0.5e-6
)

// CPU of kube-apiserver for an event of a watch: 51 µs for one of 200 watches of pods (docs/benchmarks.md: 10.3 ms for
// all of them), of which writing the bytes is about half. The encoded event is shared by watches of the same encoding.
const (
	event     = 25e-6
	eventByte = 2.3e-9 // of a stored byte
)

// Event returns the price of sending an event with an object of a size in storage to one watch.
func Event(storedBytes float64) float64 { return Events(1, storedBytes) }

// Events returns the price of sending events to watches, with the sum of the sizes of their objects in storage.
func Events(n, storedBytes float64) float64 { return event*n + eventByte*storedBytes }

// Encoding is the representation of objects in a response.
type Encoding int

// The encodings that have different prices.
const (
	Protobuf Encoding = iota
	JSON
	Table    // JSON rows, for kubectl get
	Metadata // PartialObjectMetadata in JSON
)

// perObject and perByte are the prices of an object in a list, and of each of its bytes in storage. LIST all in
// docs/benchmarks.md is 20,000 pods of 11,270 bytes: 1.59 s in protobuf and 3.05 s in JSON without compression, and
// 2.52 s as a Table and 1.57 s as metadata with compression.
var (
	perObject = [...]float64{Protobuf: 5e-6, JSON: 10e-6, Table: 30e-6, Metadata: 20e-6}
	perByte   = [...]float64{Protobuf: 6.6e-9, JSON: 12.6e-9, Table: 7.5e-9, Metadata: 4.5e-9}
	// gzipped is the price of compression: 1.71 s in protobuf, 3.63 to 4.15 s in JSON.
	gzipped = [...]float64{Protobuf: 0.5e-9, JSON: 3.8e-9, Table: 1e-9, Metadata: 0.7e-9}
)

// SentBytes are the bytes of a response, before compression, for each byte in storage. A pod of 11,270 bytes in storage
// has 15,360 bytes in JSON. A row of a Table and metadata have about a tenth to a fifth.
var SentBytes = [...]float64{Protobuf: 1, JSON: 1.36, Table: 0.2, Metadata: 0.15}

// List is a response to a LIST, or the initial events of a watch.
type List struct {
	Objects  float64 // returned objects
	Bytes    float64 // size of the returned objects in storage
	Examined float64 // objects that were compared with the selectors and not returned
	Encoding Encoding
	// Compressed reports whether kube-apiserver compresses the response: the client accepts gzip, and the response has at
	// least 128 KiB.
	Compressed bool
}

// CPU returns the seconds that kube-apiserver needs.
func (l List) CPU() float64 {
	seconds := Request + perObject[l.Encoding]*l.Objects + perByte[l.Encoding]*l.Bytes + Examined*l.Examined
	if l.Compressed && l.Bytes*SentBytes[l.Encoding] >= minCompressed {
		seconds += gzipped[l.Encoding] * l.Bytes
	}
	return seconds
}

// minCompressed is the size from which kube-apiserver compresses responses, in bytes.
const minCompressed = 128 << 10
