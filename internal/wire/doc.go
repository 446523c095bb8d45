// Package wire is what all encodings of objects have in common: what an Encoding is (how the upstream is asked, how its
// answers are cut and scanned, what answers look like), the lists, bodies and frames that are made with one, gzip, and
// what JSON is turned into on its way out (indented text, YAML). What pages look like in compressed bodies is
// compressed once and kept with them, under a budget of bytes (Precompressed).
//
// Each encoding is a package below, and adding one is that package and the places where encodings are named: handlers,
// which negotiates, and whoever preloads lanes.
//
//	wire          Encoding, Reader, Shape, Item, Representation; Body, which owns the gzip member and writes lists page by page;
//	              Precompressed, which keeps what pages look like in it
//	wire/jsonwire objects in JSON, and their Tables
//	wire/protowire objects of built-in kinds in protobuf
//	wire/table    a Table's columns, and its cells that grow old
//	wire/scan     the scanner of JSON
//
// It promises that splice(split(x)) is x: an object's bytes are never changed on their way, except where an answer must
// differ by definition. What an Item holds is known to its encoding only. Malformed input gives a typed error and never
// panics.
//
// The packages start no goroutine and write to an io.Writer and nowhere else.
package wire
