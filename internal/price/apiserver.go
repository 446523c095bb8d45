package price

// Prices of kube-apiserver, in seconds of CPU.
const (
	// Request is the price of a GET of one small object, or of a refusal. GET a namespace by a token costs 750 µs
	// (docs/benchmarks/callers.txt). GET a pod costs 517 µs with 64 clients and 1.70 ms with one client
	// (docs/benchmarks.md). One request costs less in a busy process, because several requests share some of the work.
	Request = 750e-6
	// Open is the price of opening a watch: 368 to 523 µs where watches share connections (docs/benchmarks/watches.txt).
	Open = 430e-6
	// Probe is the price of a freshness check. Through the facade, a consistent list of all pods costs kube-apiserver
	// 2.44 ms, and its first page of 500 pods 2.30 ms (docs/benchmarks.md, column "kube-apiserver behind listfacade").
	Probe  = 2.4e-3
	Review = Request
	// Examined is the price of comparing an object with selectors that no index of kube-apiserver answers. LIST a label
	// (0.5 % of the pods) costs 36.5 ms (docs/benchmarks.md). The 100 returned pods explain 20 ms of it.
	Examined = 0.8e-6
	// Write is the price of a write without the object's bytes: 1.20 to 1.41 ms for a Lease
	// (docs/benchmarks/nodes.txt).
	Write = 1.2e-3
	// WrittenByte is the price of a stored byte of a written object. Writing a pod costs 6.7 to 9.3 ms
	// (docs/benchmarks/watches.txt).
	WrittenByte = 0.5e-6
)

// CPU of kube-apiserver for sending an event to one watch: 51 µs (10.3 ms for 200 watches, docs/benchmarks.md).
// About half of it is for writing the bytes. Watches of the same encoding share the encoded event.
const (
	event     = 25e-6
	eventByte = 2.3e-9 // for each byte of the object in storage
)

// Event returns the price of sending an event to one watch, with an object of storedBytes in storage.
func Event(storedBytes float64) float64 { return Events(1, storedBytes) }

// Events returns the price of sending n events to watches. storedBytes is the total size of their objects in storage.
func Events(n, storedBytes float64) float64 { return event*n + eventByte*storedBytes }

// Encoding is the representation of objects in a response.
type Encoding int

// Encodings that have different prices.
const (
	Protobuf Encoding = iota
	JSON
	Table    // JSON rows, for kubectl get
	Metadata // PartialObjectMetadata in JSON
)

// Prices of each object in a list, and of each of its bytes in storage. LIST all in docs/benchmarks.md returns 20,000
// pods of 11,270 bytes. Without compression it costs 1.59 s in protobuf and 3.05 s in JSON. With compression it costs
// 2.52 s as a Table and 1.57 s as metadata.
var (
	perObject = [...]float64{Protobuf: 5e-6, JSON: 10e-6, Table: 30e-6, Metadata: 20e-6}
	perByte   = [...]float64{Protobuf: 6.6e-9, JSON: 12.6e-9, Table: 7.5e-9, Metadata: 4.5e-9}
	// gzipped is the price of compression for each byte in storage. With compression, LIST all costs 1.71 s in protobuf,
	// and 3.63 to 4.15 s in JSON.
	gzipped = [...]float64{Protobuf: 0.5e-9, JSON: 3.8e-9, Table: 1e-9, Metadata: 0.7e-9}
)

// SentBytes are the bytes of a response, before compression, for each byte in storage. A pod of 11,270 bytes in storage
// has 15,360 bytes in JSON. As a row of a Table or as metadata, it has a tenth to a fifth of its bytes in storage.
var SentBytes = [...]float64{Protobuf: 1, JSON: 1.36, Table: 0.2, Metadata: 0.15}

// List is a response to a LIST, or the initial events of a watch.
type List struct {
	Objects  float64 // returned objects
	Bytes    float64 // size of the returned objects in storage
	Examined float64 // objects compared with the selectors, but not returned
	Encoding Encoding
	// Compressed reports whether the client accepts gzip. A server compresses only large responses.
	Compressed bool
}

// CPU returns the seconds of CPU that kube-apiserver needs for the list.
func (l List) CPU() float64 {
	seconds := Request + perObject[l.Encoding]*l.Objects + perByte[l.Encoding]*l.Bytes + Examined*l.Examined
	if l.Compressed && l.Bytes*SentBytes[l.Encoding] >= minCompressed {
		seconds += gzipped[l.Encoding] * l.Bytes
	}
	return seconds
}

// minCompressed is the size from which kube-apiserver and the facade compress responses, in bytes.
const minCompressed = 128 << 10
