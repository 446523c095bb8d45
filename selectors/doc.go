// Package selectors decides which objects a request selects. It parses label selectors and field selectors, and defines
// the selectable fields of each kind.
//
// # Grammar
//
// The libraries of apimachinery parse label selectors and field selectors. The package therefore accepts and rejects
// exactly the same selectors as kube-apiserver (semantics 5.1, 5.2):
//
//	labelSelector = requirement { "," requirement }
//	requirement   = key | "!" key | key ("=" | "==" | "!=" | ">" | "<") value | key ("in" | "notin") "(" values ")"
//	fieldSelector = term { "," term }
//	term          = label ("=" | "==" | "!=") value          with the escapes \\ \, \= in value
//
// A shardSelector (KEP-5866) is written in a part of CEL. kube-apiserver parses it with a library that is too large for
// this program. The parser of this package (shard_syntax.go) accepts all valid selectors except unusual notations, such
// as escapes.
//
// # From text to a Predicate
//
//	ParseLabels, ParseFields     syntax only; kube-apiserver does this while it decodes the query
//	Kind.ConvertFields           versioned field labels to canonical ones, after validation of the other list options
//	Kind.Predicate               both selectors and the namespace of the path, compiled for matching
//	ParseShards                  a shardSelector; kube-apiserver does this after it has converted the field labels
//	Predicate.Within             those matches of a Predicate that are in some shards
//
// # Promises
//
// A Predicate matches exactly the objects that kube-apiserver's selectors match. Matching never allocates. Its time
// depends on the number of the object's labels and fields, and hardly on the number of requirements and values that a
// client sends. Error texts are kube-apiserver's, word for word, except ShardSyntaxError.
//
// Every exported value of this package is immutable and safe for concurrent use. Attributes are the field and label
// values of one object. Data that many Attributes have in common is in memory once, and is freed with the last of them.
//
// The key range of a Predicate (Namespace, Name), its index hint (Exact) and its Requirements only propose candidates;
// Matches always decides (I9 in cache/doc.go).
//
// # To add a selectable field
//
// Add the field to its kind's entry in builtins.go. Give the path of its value in the kind's versioned JSON, and the
// release that added it. Also give the distribution of its values over objects (Spread). Then run go generate in
// internal/wire/protowire, which writes the numbers of fields in protobuf. Indexes and the extraction of values follow
// from Kind.Fields.
//
// The package starts no goroutine and reads no object: the caller passes the field and label values of an object to
// Kind.Attributes.
package selectors
