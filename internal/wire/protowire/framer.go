package protowire

import (
	"encoding/binary"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

type framer struct {
	shape          *Shape
	representation wire.Representation
}

// Framer implements wire.Shape.
func (s *Shape) Framer(f wire.Representation) wire.Framer { return framer{shape: s, representation: f} }

// AppendEvent implements wire.Framer.
func (f framer) AppendEvent(dst []byte, event string, it *wire.Item) []byte {
	open := item.Open(it)
	defer open.Close()
	return appendFrame(dst, event, f.shape.enclose(f.representation, &open))
}

// AppendBookmark implements wire.Framer.
func (f framer) AppendBookmark(dst []byte, it *wire.Item) []byte {
	return f.AppendEvent(dst, wire.TypeBookmark, it)
}

// AppendInitialEventsEnd implements wire.Framer.
func (f framer) AppendInitialEventsEnd(dst []byte, it *wire.Item) []byte {
	return f.AppendEvent(dst, wire.TypeBookmark, it)
}

// AppendError implements wire.Framer.
func (framer) AppendError(dst []byte, status *metav1.Status) []byte {
	message, err := status.Marshal()
	if err != nil {
		panic("BUG: encode Status: " + err.Error())
	}
	return appendFrame(dst, wire.TypeError, enclosed{envelope: statusEnvelope, content: message})
}

// appendFrame appends a frame with its length prefix (semantics 4.6).
func appendFrame(dst []byte, event string, object enclosed) []byte {
	length := fieldLen(extension, object.len())
	dst = binary.BigEndian.AppendUint32(dst, uint32(fieldLen(eventType, len(event))+fieldLen(eventObject, length)))
	dst = appendHead(appendField(dst, eventType, event), eventObject, length)
	return object.append(appendHead(dst, extension, object.len()))
}
