// Package protowire encodes objects of built-in kinds as protobuf. It splits the upstream's lists and watch frames into
// messages. From messages it writes the same lists, frames and partial objects as kube-apiserver. It decodes no message
// of an object (semantics 7.4).
//
// A body is an envelope around one message: four bytes, and a runtime.Unknown with the type meta. An item is a message
// without type meta, as in a list. Every length precedes the data that it measures. Therefore a list's head depends on
// all of its items, and another resourceVersion also changes the length of metadata.
//
// The package finds selectable fields by their field numbers. The table of these numbers (numbers_table.go) is
// generated from the Go types of the API, and does not depend on the upstream (docs/adr/0011-field-number-table.md). A
// kind with a selectable field of unknown number has no protobuf lane: Encoding.Covers returns false.
//
// The package promises that the bytes of a message do not change, including unknown fields, except where a response
// must differ by definition. The exceptions are the resourceVersion of an object that left a selector, and annotations
// that PartialObjectMetadata omits. Malformed input causes an error, never a panic.
//
// The package starts no goroutine, and writes only to buffers of the caller.
package protowire
