// Package transcode converts objects of built-in kinds from protobuf to JSON. The result has the same bytes as the JSON
// of the kube-apiserver release whose k8s.io/api is in go.mod. There is one exception: the volumeClaimTemplates of a
// StatefulSet have no kind and apiVersion, because protobuf does not contain them. The package omits fields that only
// newer releases have.
//
// The names, numbers and types of fields are in a table (messages.txt), which a test generates from the Go types of the
// API. The package does not link the types themselves, because they would enlarge the program by a third (ADR 25). The
// test compares the results with the JSON of the Go types, for random objects of all kinds.
//
// Malformed input causes an error that wraps ErrMalformed, never a panic. The package starts no goroutine. Its
// functions are safe for concurrent use.
package transcode
