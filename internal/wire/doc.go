// Package wire contains the common parts of all encodings of objects: the Encoding interface, lists, bodies and watch
// frames, gzip, indented JSON, and YAML. An Encoding defines how the facade requests objects from the upstream, splits
// responses into objects, scans each object, and writes responses to clients. Precompressed is a cache of compressed
// pages with a budget in bytes.
//
// Each encoding is a subpackage. To add an encoding, write its subpackage, and name the subpackage in
// internal/facade/encodings.go.
//
//	wire          Encoding, Reader, Shape, Item, Representation; Body, which owns the gzip member and writes lists page
//	              by page; Precompressed, which caches the compressed text of pages
//	wire/jsonwire objects in JSON, and their Tables
//	wire/protowire objects of built-in kinds in protobuf
//	wire/table    the columns of a Table, and its cells that show ages
//	wire/scan     the JSON scanner
//
// The package promises that the bytes of an object do not change between upstream and client. Exceptions are white
// space, and responses that must differ by definition, such as Tables and partial metadata. Malformed input causes an
// error, never a panic.
//
// The packages start no goroutine, and write only to writers and buffers of the caller.
package wire
