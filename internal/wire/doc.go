// Package wire understands bytes: it cuts the upstream's lists and watch frames into objects, and joins objects into the lists,
// frames, Tables and partial objects that kube-apiserver would have written, without decoding any of them.
//
// It promises that splice(split(x)) is x: an object's bytes are never changed on their way, except where an answer must
// differ by definition (the resourceVersion of an object that left a selector, the age cells of a Table, the metadata order
// of a custom resource's PartialObjectMetadata). Malformed input gives a typed error and never panics.
//
// The package starts no goroutine, writes to an io.Writer and nowhere else, and imports nothing of this module.
package wire
