package wire

// Item is one object as the upstream encoded it, and where in its bytes lies what answers are spliced from. Immutable.
type Item struct {
	// JSON is the complete object, kind and apiVersion included, without a newline.
	JSON []byte
	// Cells is its Table row's cells, a JSON array; nil when the upstream printed none.
	Cells []byte

	conditions   []byte // of its Table row, a JSON array; nil when there is none
	rest         uint32 // where the object goes on behind its leading type meta; 0 in custom-resource style
	metadata, me uint32 // metadata's value
	version, ve  uint32 // the text of metadata.resourceVersion, without quotes
}

// Size is the memory that the item's bytes take.
func (it Item) Size() int { return len(it.JSON) + len(it.Cells) + len(it.conditions) }

func (it Item) resourceVersion() string { return string(it.JSON[it.version:it.ve]) }

// WithResourceVersion returns the item with another metadata.resourceVersion: what a watcher is told of an object that left
// its selector is the previous content at the version of the change (semantics 4.4).
func (it Item) WithResourceVersion(rv string) Item {
	text := make([]byte, 0, len(it.JSON)+len(rv)-int(it.ve-it.version))
	text = append(text, it.JSON[:it.version]...)
	text = append(text, rv...)
	text = append(text, it.JSON[it.ve:]...)
	moved := uint32(len(text) - len(it.JSON)) // wraps around when the version became shorter, and so does the sum
	it.JSON, it.ve, it.me = text, it.version+uint32(len(rv)), it.me+moved
	if it.rest > it.version {
		it.rest += moved
	}
	return it
}

// appendListed appends the object as it stands in a list: built-in objects leave their type meta out (semantics 7.1).
func (it Item) appendListed(dst []byte) []byte {
	if it.rest == 0 {
		return append(dst, it.JSON...)
	}
	return append(append(dst, '{'), it.JSON[it.rest:]...)
}
