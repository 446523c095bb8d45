// Package jsonwire encodes objects as JSON. It splits the upstream's lists and watch frames into objects. From objects
// it writes the same lists, frames, Tables and partial objects as kube-apiserver. It decodes none of them.
//
// A JSON lane watches Tables whose rows contain complete objects. Only the cells of a Table cannot be derived from an
// object; all other representations can. The lane is filled from pages of plain lists and of Tables without objects,
// whose rows are joined. If an upstream has no Tables for a kind, only objects are requested.
//
// The package promises that the bytes of an object do not change, except where a response must differ by definition.
// The exceptions are the resourceVersion of an object that left a selector, and Table cells with an age. The members of
// metadata also have another order in the PartialObjectMetadata of a custom resource. Malformed input causes a
// *scan.MalformedError, never a panic.
//
// The package starts no goroutine, and writes only to buffers of the caller.
package jsonwire
