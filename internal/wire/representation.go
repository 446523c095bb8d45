package wire

// Representation is the part and format in which an object appears in a list, a watch frame or a body of one object. It
// is comparable, because it is part of cache keys.
type Representation struct {
	Kind    RepresentationKind
	Meta    MetaVersion // version of Partial and Row; empty for other kinds
	Include Include     // content of Row; 0 for other kinds
}

// RepresentationKind is the kind of a Representation.
type RepresentationKind int

const (
	// Whole is the object with its type meta, as in a watch or in a body of one object.
	Whole RepresentationKind = iota
	// Listed is the object as in a list of its kind. There, built-in objects omit their type meta (semantics 7.1).
	Listed
	// Partial is the object's PartialObjectMetadata (semantics 6.5).
	Partial
	// Row is a row of a Table (semantics 6.4).
	Row
)

// MetaVersion is the group version of a transformed response.
type MetaVersion string

// The versions of meta.k8s.io.
const (
	MetaV1      MetaVersion = "meta.k8s.io/v1"
	MetaV1Beta1 MetaVersion = "meta.k8s.io/v1beta1"
)

// Include says which part of the object a row of a Table contains.
type Include int

// The values of includeObject (semantics 6.4).
const (
	IncludeMetadata Include = iota
	IncludeObject
	IncludeNone
)
