// Package selectors decides which objects a request is about: label selectors, field selectors, and the fields that
// each kind offers for selection.
//
// # Grammar
//
// Both parsers are apimachinery's own, so that this package accepts and refuses exactly what kube-apiserver does
// (semantics 5.1, 5.2):
//
//	labelSelector = requirement { "," requirement }
//	requirement   = key | "!" key | key ("=" | "==" | "!=" | ">" | "<") value | key ("in" | "notin") "(" values ")"
//	fieldSelector = term { "," term }
//	term          = label ("=" | "==" | "!=") value          with the escapes \\ \, \= in value
//
// # From text to a Predicate
//
//	ParseLabels, ParseFields     syntax only; kube-apiserver does this while it decodes the query
//	Kind.ConvertFields           versioned field labels to canonical ones; after the other options were validated
//	Kind.Predicate               both selectors and the namespace of the path, compiled for matching
//
// # Promises
//
// A Predicate matches exactly the objects that kube-apiserver's own selectors match; tests hold it to apimachinery's
// Matches over an exhaustively generated grammar. Matching never allocates, and takes time in proportion to the
// object's labels, however many requirements and values a client sends. Error texts are kube-apiserver's, word for
// word. Every value here is immutable once made, so all of it may be shared between goroutines. What Attributes of many
// objects have in common is in memory once, and no longer than one of them is; they keep nothing of what they were made
// of.
//
// The key range that a Predicate names (Namespace, Name), its index hint (Exact) and what it requires of
// an object (Requirements) only propose candidates; Matches always decides (I9).
//
// # To add a selectable field
//
// Add it to its kind's entry in builtins.go, with the place of its value in the kind's versioned JSON, the release that
// brought it, and how its values are spread over objects, which decides what memory they take. Everything else,
// extraction and indexes included, follows from Kind.Fields.
//
// The package starts no goroutine, holds no lock, reads no object: whoever calls it has scanned the values out of the
// object's bytes before (Attributes).
package selectors
