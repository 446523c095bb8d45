package wire

// Representation is what an object looks like in a body. Lists, frames and single objects are made of it. Comparable,
// so that what was prepared in a form can be found by it.
type Representation struct {
	Kind    RepresentationKind
	Meta    MetaVersion // of Partial and Row; empty otherwise
	Include Include     // of Row; 0 otherwise
}

// RepresentationKind is what becomes of the object.
type RepresentationKind int

const (
	// Whole is the object with its type meta: alone, and in a watch.
	Whole RepresentationKind = iota
	// Listed is the object as it stands in a list of its kind, where built-in objects leave their type meta out
	// (semantics 7.1).
	Listed
	// Partial is the object's PartialObjectMetadata (semantics 6.5).
	Partial
	// Row is a row of a Table (semantics 6.4).
	Row
)

// MetaVersion is the group version that a transformed answer says it has.
type MetaVersion string

// The versions of meta.k8s.io.
const (
	MetaV1      MetaVersion = "meta.k8s.io/v1"
	MetaV1Beta1 MetaVersion = "meta.k8s.io/v1beta1"
)

// Include is how much of the object a Table's row holds.
type Include int

// The values of includeObject (semantics 6.4).
const (
	IncludeMetadata Include = iota
	IncludeObject
	IncludeNone
)
