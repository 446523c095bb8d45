package protowire

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

// endKey is the annotation of the bookmark after the initial events of a streaming list (KEP-3157).
const endKey = metav1.InitialEventsAnnotationKey

// endEntry is the encoded map entry of endKey with the value "true".
var endEntry = appendField(appendField(nil, entryKey, endKey), entryValue, "true")

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

// learnBookmark makes the kind's bookmarks from a bookmark of the upstream, with or without endKey. It copies the
// fields outside metadata. It rejects metadata that no bookmark has, such as a name, because a real object must never
// be sent as a bookmark. It also rejects a bookmark that it could not reproduce exactly. With an error, it returns a
// minimal bookmark.
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
		return s.Bookmark(), malformed("bookmark metadata has an unexpected field order")
	}
	return bookmarkOf(plain, end)
}

// learned is a bookmark's metadata without endKey, split where endKey belongs.
type learned struct{ before, after []byte }

// inspect reads a bookmark's metadata. It returns an error for fields that no bookmark has.
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
			before = string(pair.key) < endKey // annotations are sorted by key
		case f.number != metaVersion && !empty:
			return seen, malformed("bookmark metadata has unexpected field %d", f.number)
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
			panic("BUG: encode metadata: " + err.Error())
		}
		return appendField(nil, objectMetadata, metadata)
	}
	bookmark, err := bookmarkOf(object(nil), object(map[string]string{endKey: "true"}))
	if err != nil {
		panic("BUG: read own bookmark: " + err.Error())
	}
	return bookmark
}

func bookmarkOf(plain, end []byte) (bookmark wire.Bookmark, err error) {
	scanner := newExtractor(schema.GroupVersionKind{}, nil)
	if bookmark.Plain, _, err = scanner.scan(plain); err != nil {
		return wire.Bookmark{}, err
	}
	bookmark.InitialEventsEnd, _, err = scanner.scan(end)
	return bookmark, err
}
