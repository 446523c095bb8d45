// Package jsonwire is objects in JSON. It cuts the upstream's lists and watch frames into objects, and joins objects
// into the lists, frames, Tables and partial objects that kube-apiserver would have written, without decoding any of
// them.
//
// A JSON lane watches Tables whose rows hold whole objects, since a Table's cells are the one thing that cannot be made
// of the objects; from the objects all the other forms follow. It is filled by pages of plain lists and of Tables
// without objects, whose rows are put beside them. An upstream that does not print a kind is asked for the objects
// alone.
//
// It promises that an object's bytes are never changed on their way, except where an answer must differ by definition
// (the resourceVersion of an object that left a selector, the cells of a Table that hold an age, the order of metadata
// in a custom resource's PartialObjectMetadata). Malformed input gives a *scan.MalformedError and never panics.
//
// The package starts no goroutine and writes nowhere but into what it is given.
package jsonwire
