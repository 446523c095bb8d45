package timeline

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/transcode"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

var encodings = map[string]wire.Encoding{
	jsonwire.Encoding{}.Name():  jsonwire.Encoding{},
	protowire.Encoding{}.Name(): protowire.Encoding{},
}

// source decodes the objects of one segment.
type source struct {
	reader       wire.Reader
	shape        wire.Shape
	protobuf     bool
	dictionaries []*wire.Dictionary
}

func newSource(identity *journal.Identity) (*source, error) {
	encoding := encodings[identity.Encoding]
	if encoding == nil {
		return nil, fmt.Errorf("unknown encoding %q", identity.Encoding)
	}
	gvr, err := identity.GVR()
	if err != nil {
		return nil, err
	}
	d := wire.Description{
		Resource: gvr, Kind: gvr.GroupVersion().WithKind(strings.TrimSuffix(identity.ListKind, "List")),
		ListKind: identity.ListKind, Custom: identity.Definition != "",
	}
	return &source{
		reader: encoding.Reader(d, wire.RequestFormat{Accept: identity.Accept}, nil), shape: encoding.Shape(d),
		protobuf: encoding == protowire.Encoding{},
	}, nil
}

func (s *source) add(stored []byte) error {
	d, err := wire.ReadDictionary(stored)
	s.dictionaries = append(s.dictionaries, d)
	return err
}

// held is an object as the journal has it. The zero value means that there is no object.
type held struct {
	payload []byte
	of      *source
}

// object decodes the object. It returns nil if there is none.
func (h held) object() (*object, error) {
	if h.of == nil {
		return nil, nil
	}
	it, _, err := h.of.reader.Stored(h.payload, h.of.dictionaries)
	if err != nil {
		return nil, err
	}
	text := h.of.shape.AppendObject(nil, wire.Representation{Kind: wire.Whole}, &it, time.Time{})
	if !h.of.protobuf {
		return read(text)
	}
	converted, err := transcode.Body(nil, text)
	if !errors.Is(err, transcode.ErrUnknownKind) {
		if err != nil {
			return nil, err
		}
		return read(converted)
	}
	if converted, err = transcode.BodyMetadata(nil, text); err != nil {
		return nil, err
	}
	o, err := read(converted)
	if err == nil {
		o.partial = true
	}
	return o, err
}
