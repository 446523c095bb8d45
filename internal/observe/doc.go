// Package observe holds the meters: every metric of the facade is defined and registered here, and nowhere else.
//
// Other packages declare the small interface that they report to; the types here implement them. Labels come from closed
// sets (verbs, resources that discovery named, status codes), never from a client's text, so that no client can grow the
// number of series.
//
// The package starts no goroutine and imports nothing else of this module.
package observe
