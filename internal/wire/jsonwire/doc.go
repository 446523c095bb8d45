// Package jsonwire encodes objects as JSON. It splits the upstream's lists and watch frames into objects. From objects
// it writes the same lists, frames, Tables and partial objects as kube-apiserver. It decodes no object.
//
// A JSON lane watches Tables whose rows contain complete objects. The cells of a row cannot be derived from the object.
// The reflector fills the lane from two kinds of lists: plain lists, and Tables without objects. Package jsonwire joins
// the objects with the rows. If an upstream has no Tables for a kind, the reflector requests only objects.
//
// The package promises that the bytes of an object do not change. Exceptions are white space between values, the
// resourceVersion of an object that left a selector, Table cells with an age, and PartialObjectMetadata. In
// PartialObjectMetadata, fields of custom resources have another order, and some built-in kinds lack annotations.
// Malformed input causes an error, never a panic.
//
// The package starts no goroutine, and writes only to buffers of the caller.
package jsonwire
