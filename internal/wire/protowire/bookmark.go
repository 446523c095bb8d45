package protowire

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

// endKey is the annotation of the bookmark after the initial events of a streaming list (KEP-3157); endEntry is it with
// its value, as a map's entry.
const endKey = metav1.InitialEventsAnnotationKey

var endEntry = appendField(appendField(nil, entryKey, endKey), entryValue, "true")

// readBookmark reads what a lane has to know of a bookmark.
func readBookmark(message []byte) (version string, initialEventsEnd bool, err error) {
	var w walk
	if err := w.object(&extractor{}, message); err != nil {
		return "", false, err
	}
	s := scanner{data: message[:w.meta.whole.end], pos: w.meta.whole.start}
	for s.more() {
		f, err := s.next()
		if err != nil {
			return "", false, err
		}
		if f.number == metaAnnotations && bytes.Equal(s.data[f.start:f.end], endEntry) {
			initialEventsEnd = true
		}
	}
	return string(w.meta.rv), initialEventsEnd, nil
}

// learnBookmark makes bookmarks of one that the upstream sent, of either form: whatever the kind's empty object shows
// is kept as it was encoded. One with anything in metadata that no bookmark has, like a name, is refused, so that no
// real object is ever replayed as a bookmark; so is one that would be written differently. What cannot be learned is
// the least that every bookmark has.
func (s *Shape) learnBookmark(message []byte) (wire.Bookmark, error) {
	var w walk
	err := w.object(&extractor{}, message)
	if err != nil {
		return s.Bookmark(), err
	}
	seen, err := inspect(message[w.meta.whole.start:w.meta.whole.end])
	if err != nil {
		return s.Bookmark(), err
	}
	with := func(metadata []byte) []byte {
		object := appendField(bytes.Clone(message[:w.meta.whole.tag]), objectMetadata, metadata)
		return append(object, message[w.meta.whole.end:]...)
	}
	plain := with(append(bytes.Clone(seen.before), seen.after...))
	end := with(append(appendField(bytes.Clone(seen.before), metaAnnotations, endEntry), seen.after...))
	if !bytes.Equal(message, plain) && !bytes.Equal(message, end) {
		return s.Bookmark(), malformed("a bookmark whose metadata is written in another order than its kind's")
	}
	return bookmarkOf(plain, end)
}

// learned is a bookmark's metadata without the annotation that ends initial events: what stands before its place, and
// behind it.
type learned struct{ before, after []byte }

// inspect reads metadata, and refuses what no bookmark has.
func inspect(metadata []byte) (seen learned, err error) {
	s := scanner{data: metadata}
	for s.more() {
		f, err := s.next()
		if err != nil {
			return seen, err
		}
		empty := f.wireType == protowire.VarintType && f.varint == 0 || f.wireType == protowire.BytesType && f.start == f.end
		before := f.number < metaAnnotations
		switch {
		case f.number == metaAnnotations:
			pair, err := readEntry(&s, f)
			if err != nil {
				return seen, err
			}
			if string(pair.key) == endKey {
				continue
			}
			before = string(pair.key) < endKey // annotations stand in the order of their keys
		case f.number != metaVersion && !empty:
			return seen, malformed("metadata has a field %d, which no bookmark has", f.number)
		}
		if before {
			seen.before = append(seen.before, metadata[f.tag:f.end]...)
		} else {
			seen.after = append(seen.after, metadata[f.tag:f.end]...)
		}
	}
	return seen, nil
}

// Bookmark implements wire.Shape.
func (*Shape) Bookmark() wire.Bookmark {
	object := func(annotations map[string]string) []byte {
		meta := metav1.ObjectMeta{ResourceVersion: "1", Annotations: annotations}
		metadata, err := meta.Marshal()
		if err != nil {
			panic("BUG: metadata that cannot be encoded: " + err.Error())
		}
		return appendField(nil, objectMetadata, metadata)
	}
	bookmark, err := bookmarkOf(object(nil), object(map[string]string{endKey: "true"}))
	if err != nil {
		panic("BUG: a bookmark of metadata is malformed: " + err.Error())
	}
	return bookmark
}

// bookmarkOf scans both forms once, at some version: from then on they are items like any other.
func bookmarkOf(plain, end []byte) (bookmark wire.Bookmark, err error) {
	scanner := newExtractor(schema.GroupVersionKind{}, nil)
	if bookmark.Plain, _, err = scanner.scan(plain); err != nil {
		return wire.Bookmark{}, err
	}
	bookmark.InitialEventsEnd, _, err = scanner.scan(end)
	return bookmark, err
}
