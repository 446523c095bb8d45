// Package wire contains what all encodings of objects have in common: the Encoding interface, lists, bodies and watch
// frames, gzip, indented JSON, and YAML. An Encoding defines how objects are requested from the upstream, how the
// responses are split into objects and scanned, and how responses to clients are written. A cache of
// precompressed pages is limited by a budget in bytes (Precompressed).
//
// Each encoding is a subpackage. To add one, write that package, and name it in internal/facade/encodings.go.
//
//	wire          Encoding, Reader, Shape, Item, Representation; Body, which owns the gzip member and writes lists page
//	              by page; Precompressed, which caches the compressed text of pages
//	wire/jsonwire objects in JSON, and their Tables
//	wire/protowire objects of built-in kinds in protobuf
//	wire/table    the columns of a Table, and its cells that show ages
//	wire/scan     the JSON scanner
//
// The package promises that the bytes of an object do not change between upstream and client, except where a response
// must differ by definition. Only the encoding of an Item reads its content. Malformed input causes a typed error,
// never a panic.
//
// The packages start no goroutine, and write only to an io.Writer.
package wire
