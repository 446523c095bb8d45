package replay

import (
	"bytes"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/transcode"
	"github.com/listfacade/listfacade/internal/wire"
)

type reading interface {
	read(s *stored) (wire.Item, wire.Facts, error)
}

type asRecorded struct{ reader wire.Reader }

func (a asRecorded) read(s *stored) (wire.Item, wire.Facts, error) {
	return a.reader.Stored(s.payload, s.by)
}

// asJSON reads objects that were recorded in protobuf, and converts them to JSON. The results have no Table rows.
type asJSON struct {
	kind     schema.GroupVersionKind
	protobuf wire.Reader
	shape    wire.Shape // shape of the protobuf encoding
	json     wire.Reader
}

const protobufMagic = "k8s\x00"

func (a asJSON) read(s *stored) (it wire.Item, facts wire.Facts, err error) {
	recorded, _, err := a.protobuf.Stored(s.payload, s.by)
	if err != nil {
		return it, facts, err
	}
	body := a.shape.AppendObject(nil, wire.Representation{Kind: wire.Whole}, &recorded, time.Time{})
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(body, []byte(protobufMagic))); err != nil {
		return it, facts, fmt.Errorf("read protobuf: %w", err)
	}
	object, err := transcode.JSON([]byte(`{"type":"ADDED","object":`), a.kind, envelope.Raw)
	if err != nil {
		return it, facts, err
	}
	frame, err := a.json.Frame(append(object, '}'))
	return frame.Item, frame.Facts, err
}
