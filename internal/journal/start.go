package journal

import "time"

// Identity describes the objects of a segment. A facade restores a lane only from a segment for whose Identity Same
// returns true.
type Identity struct {
	Cluster  string // UID of the namespace kube-system
	Resource string // group, version and resource
	Encoding string
	Accept   string // Accept header with which the objects were requested
	Upstream string // version of kube-apiserver
	// Definition and Generation are the UID and generation of the definition of a custom resource.
	Definition string `json:",omitempty"`
	Generation int64  `json:",omitempty"`
	// Marked is set if the upstream sent bookmarks.
	Marked bool `json:",omitempty"`
	// Columns are the column definitions of a lane of Tables.
	Columns []byte `json:",omitempty"`
	// Bookmark is a watch frame with the bookmark that ends initial events.
	Bookmark []byte `json:",omitempty"`
	// ListKind is the kind of the resource's lists. Warnings are the Warning headers of the upstream's responses.
	ListKind string   `json:",omitempty"`
	Warnings []string `json:",omitempty"`
}

// Same reports whether both identities describe the same objects. It ignores fields that can change while a lane runs.
func (i *Identity) Same(other *Identity) bool {
	return i.Cluster == other.Cluster && i.Resource == other.Resource && i.Encoding == other.Encoding &&
		i.Accept == other.Accept && i.Upstream == other.Upstream && i.Definition == other.Definition &&
		i.Generation == other.Generation
}

// Position is a place in a lane's journal: the end of a segment's records at some moment. The zero Position stands for
// no place.
type Position struct {
	Sequence uint64 `json:",omitempty"` // number of the segment in its lane
	ID       uint64 `json:",omitempty"` // random number of the segment
	Offset   int64  `json:",omitempty"` // size of the segment up to its last record, in bytes
}

// Start describes the beginning of a segment.
type Start struct {
	Identity
	RV   uint64    // resourceVersion of the checkpoint
	Time time.Time // when the lane had the content of the checkpoint
	// After is set if the checkpoint equals the content at the end of the segment before. Zero means that events
	// between that end and the checkpoint may be missing (a hole), or that there is no segment before.
	After Position
}

// start is the content of a segment's first block.
type start struct {
	ID uint64
	Start
}
