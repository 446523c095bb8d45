// Package protowire is objects of built-in kinds in protobuf. It cuts the upstream's lists and watch frames into
// messages, and joins messages into the lists, frames and partial objects that kube-apiserver would have written,
// without decoding any of them (semantics 7.4).
//
// A body is an envelope around one message: four bytes, and a runtime.Unknown with the type meta. Objects stand in an
// item without theirs, as they do in a list. Every length is written before what it measures, so a list's head depends
// on all of its items, and exchanging a resourceVersion moves the length of metadata, too.
//
// What an object is selected by is found by field numbers (numbers_table.go), which are made of the API's Go types and
// not of what the upstream sends (docs/adr/0011-numbers-are-generated.md). A kind with a field whose number is not
// known has no lane here: Encoding.Covers says so.
//
// It promises that a message's bytes are never changed on their way, fields that it does not know included, except
// where an answer must differ by definition (the resourceVersion of an object that left a selector, annotations that
// PartialObjectMetadata leaves out). Malformed input gives a *MalformedError, and never panics.
//
// The package starts no goroutine and writes nowhere but into what it is given.
package protowire
