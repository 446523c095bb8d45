package protowire

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/wire"
)

// Field numbers of a list of a built-in kind.
const (
	listMetadata int32 = 1
	listItems    int32 = 2
)

// reader implements wire.Reader.
type reader struct {
	extractor *extractor
	shape     *Shape
}

// List implements wire.Reader.
func (r *reader) List(body []byte, each func(wire.Item, wire.Facts) error) (wire.ListHead, error) {
	message, err := r.shape.list.open(body)
	if err != nil {
		return wire.ListHead{}, err
	}
	var meta *metav1.ListMeta
	s := scanner{data: message}
	for s.more() {
		f, err := s.next()
		if err != nil {
			return wire.ListHead{}, err
		}
		switch f.number {
		case listMetadata:
			meta, err = readListMeta(&s, f)
		case listItems:
			err = r.item(&s, f, each)
		}
		if err != nil {
			return wire.ListHead{}, err
		}
	}
	if meta == nil {
		return wire.ListHead{}, malformed("list without metadata")
	}
	return headOf(meta), nil
}

func headOf(meta *metav1.ListMeta) wire.ListHead {
	head := wire.ListHead{ResourceVersion: meta.ResourceVersion, Continue: meta.Continue}
	if meta.RemainingItemCount != nil {
		head.Remaining = *meta.RemainingItemCount
	}
	return head
}

func readListMeta(s *scanner, f field) (*metav1.ListMeta, error) {
	message, err := s.bytes(f)
	if err != nil {
		return nil, err
	}
	meta := &metav1.ListMeta{}
	if err := meta.Unmarshal(message); err != nil {
		return nil, malformed("decode list metadata: %v", err)
	}
	return meta, nil
}

func (r *reader) item(s *scanner, f field, each func(wire.Item, wire.Facts) error) error {
	object, err := s.bytes(f)
	if err != nil {
		return err
	}
	item, facts, err := r.extractor.scan(object)
	if err != nil {
		return err
	}
	return each(item, facts)
}

// Frame implements wire.Reader.
func (r *reader) Frame(frame []byte) (wire.Frame, error) {
	event, object, err := cutFrame(frame)
	if err != nil {
		return wire.Frame{}, err
	}
	read := wire.Frame{Type: event}
	if event == wire.TypeError {
		read.Failure, err = failureOf(object)
		return read, err
	}
	message, err := r.shape.whole.open(object)
	if err != nil {
		return wire.Frame{}, err
	}
	switch event {
	case wire.TypeBookmark:
		read.ResourceVersion, read.InitialEventsEnd, err = readBookmark(message)
	case wire.TypeAdded, wire.TypeModified, wire.TypeDeleted:
		read.Item, read.Facts, err = r.extractor.scan(message)
		read.ResourceVersion = read.Facts.ResourceVersion
	}
	if err == nil && read.ResourceVersion == "" {
		err = malformed("object in a watch frame has no metadata.resourceVersion")
	}
	return read, err
}

// Stored implements wire.Reader.
func (r *reader) Stored(stored []byte, by []*wire.Dictionary) (wire.Item, wire.Facts, error) {
	return r.extractor.stored(stored, by)
}

// Bookmark implements wire.Reader.
func (r *reader) Bookmark(frame []byte) (wire.Bookmark, error) {
	_, object, err := cutFrame(frame)
	if err != nil {
		return r.shape.Bookmark(), err
	}
	message, err := r.shape.whole.open(object)
	if err != nil {
		return r.shape.Bookmark(), err
	}
	return r.shape.learnBookmark(message)
}
