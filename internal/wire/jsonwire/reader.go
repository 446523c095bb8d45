package jsonwire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/listfacade/listfacade/internal/wire"
)

// initialEventsEnd is the annotation of the bookmark that ends the initial events of a streaming list (KEP-3157).
var initialEventsEnd = []byte(`"k8s.io/initial-events-end":"true"`)

// reader implements wire.Reader.
type reader struct {
	extractor *Extractor
	shape     *Shape
	plain     bool // whether the requests are for plain lists, not for Tables
}

// List implements wire.Reader.
func (r *reader) List(body []byte, each func(wire.Item, wire.Facts) error) (wire.ListHead, error) {
	lead := r.lead()
	list, err := SplitList(body, func(row Row) error {
		row.Lead = lead
		item, facts, err := r.extractor.Scan(row)
		if err != nil {
			return err
		}
		return each(item, facts)
	})
	if err != nil {
		return wire.ListHead{}, err
	}
	return list.head(), nil
}

// lead returns the type meta that built-in objects lack in a plain list, or nil for other lists.
func (r *reader) lead() []byte {
	if !r.plain || r.shape.custom {
		return nil
	}
	return []byte(`{"kind":"` + r.shape.kind + `","apiVersion":"` + r.shape.apiVersion + `",`)
}

func (l ListBody) head() wire.ListHead {
	return wire.ListHead{
		ResourceVersion: l.ResourceVersion, Continue: l.Continue, Remaining: l.Remaining, Columns: bytes.Clone(l.Columns),
	}
}

// Frame implements wire.Reader.
func (r *reader) Frame(line []byte) (wire.Frame, error) {
	cut, err := ParseFrame(line)
	if err != nil {
		return wire.Frame{}, err
	}
	frame := wire.Frame{Type: cut.Type, ResourceVersion: cut.ResourceVersion, Columns: cut.Columns}
	switch cut.Type {
	case wire.TypeError:
		frame.Failure, err = failureOf(cut.Status)
	case wire.TypeBookmark:
		frame.InitialEventsEnd = bytes.Contains(cut.Row.Object, initialEventsEnd)
	case wire.TypeAdded, wire.TypeModified, wire.TypeDeleted:
		frame.Item, frame.Facts, err = r.extractor.Scan(cut.Row)
	}
	return frame, err
}

func failureOf(status []byte) (*wire.Failure, error) {
	var s struct{ Code int }
	if err := json.Unmarshal(status, &s); err != nil {
		return nil, fmt.Errorf("decode Status: %w", err)
	}
	return &wire.Failure{Code: s.Code, Status: status}, nil
}

// Bookmark implements wire.Reader.
func (r *reader) Bookmark(line []byte) (wire.Bookmark, error) {
	cut, err := ParseFrame(line)
	if err != nil {
		return r.shape.Bookmark(), err
	}
	return r.shape.learnBookmark(cut.Row)
}

// Stored implements wire.Reader.
func (r *reader) Stored(stored []byte, by []*wire.Dictionary) (wire.Item, wire.Facts, error) {
	return r.extractor.Stored(stored, by)
}
