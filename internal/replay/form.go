package replay

import (
	"bytes"
	"fmt"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// form says how the replay reads and represents the objects of a lane. A lane gets another form when the recorded
// identity changes, for example with another version of kube-apiserver or another definition. Immutable.
type form struct {
	of       journal.Identity
	about    *reflector.Description
	reading  reading
	shape    wire.Shape
	bookmark wire.Bookmark
}

func (f *form) fits(id *journal.Identity) bool {
	return f.of.Accept == id.Accept && f.of.Definition == id.Definition && f.of.Generation == id.Generation &&
		f.of.ListKind == id.ListKind && f.of.Upstream == id.Upstream && bytes.Equal(f.of.Columns, id.Columns)
}

// form returns the form of a recorded identity in an encoding, which is the recorded encoding or JSON.
func (s *served) form(resource upstream.Resource, id journal.Identity, e wire.Encoding) (*form, error) {
	var definition []byte
	if resource.Custom {
		definition = s.definition(resource.GVR.GroupResource())
	}
	about, err := reflector.Describe(resource, definition)
	if err != nil {
		return nil, err
	}
	if id.ListKind != "" {
		about.About.ListKind = id.ListKind
	}
	f := &form{of: id, about: about, shape: e.Shape(about.About)}
	if e.Name() != id.Encoding {
		return f, s.convert(f, resource, e)
	}
	return f, s.represent(f, e)
}

// represent completes the form of objects that the replay serves in the recorded encoding. It sets their reader, and
// the columns and the bookmark that were recorded with them.
func (s *served) represent(f *form, e wire.Encoding) (err error) {
	reader := f.about.Reader(e, f.of.Accept)
	f.reading = asRecorded{reader}
	if len(f.of.Columns) > 0 {
		if f.shape, err = f.shape.WithColumns(f.of.Columns); err != nil {
			return err
		}
	}
	f.shape = f.shape.WithClock(s.now)
	f.bookmark = f.shape.Bookmark()
	if len(f.of.Bookmark) > 0 {
		f.bookmark, err = reader.Bookmark(f.of.Bookmark)
	}
	return err
}

func (s *served) convert(f *form, resource upstream.Resource, e wire.Encoding) error {
	from := s.encoding(f.of.Encoding)
	if from == nil {
		return fmt.Errorf("unknown encoding %q", f.of.Encoding)
	}
	f.reading = asJSON{
		kind: resource.GVK, protobuf: f.about.Reader(from, f.of.Accept), shape: from.Shape(f.about.About),
		json: f.about.Reader(e, upstream.MediaJSON),
	}
	f.bookmark = f.shape.Bookmark()
	return nil
}
