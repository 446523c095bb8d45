package protowire

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/wire"
)

// Field numbers of metav1.WatchEvent, and of the RawExtension in it.
const (
	eventType   int32 = 1
	eventObject int32 = 2
	extension   int32 = 1
)

// cutFrame splits a frame into the event type and the enclosed object (semantics 4.6).
func cutFrame(frame []byte) (event string, object []byte, err error) {
	s := scanner{data: frame}
	for s.more() {
		f, err := s.next()
		if err != nil {
			return "", nil, err
		}
		value := []byte(nil)
		switch f.number {
		case eventType:
			value, err = s.bytes(f)
			event = knownType(value)
		case eventObject:
			if value, err = s.bytes(f); err == nil {
				object, err = cutExtension(value)
			}
		}
		if err != nil {
			return "", nil, err
		}
	}
	if event == "" || object == nil {
		return "", nil, malformed("watch frame without type or object")
	}
	return event, object, nil
}

func cutExtension(message []byte) (raw []byte, err error) {
	s := scanner{data: message}
	for s.more() {
		f, err := s.next()
		if err == nil && f.number == extension {
			raw, err = s.bytes(f)
		}
		if err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// knownType returns a constant for a known type, to avoid an allocation for each event.
func knownType(name []byte) string {
	for _, known := range []string{wire.TypeAdded, wire.TypeModified, wire.TypeDeleted, wire.TypeBookmark,
		wire.TypeError} {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

var statusEnvelope = newEnvelope("v1", "Status")

// failureOf reads the Status of an ERROR event, and converts it to JSON for logs.
func failureOf(object []byte) (*wire.Failure, error) {
	message, err := statusEnvelope.open(object)
	if err != nil {
		return nil, err
	}
	var status metav1.Status
	if err := status.Unmarshal(message); err != nil {
		return nil, malformed("decode Status: %v", err)
	}
	status.APIVersion, status.Kind = "v1", "Status"
	text, err := json.Marshal(status)
	if err != nil {
		return nil, malformed("encode Status as JSON: %v", err)
	}
	return &wire.Failure{Code: int(status.Code), Status: text}, nil
}
