package agents

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Protobuf is the encoding of kubelets. It implements Encoding.
type Protobuf struct{}

// lengthBytes is the length, in bytes, of the prefix of a frame. The prefix contains the length of the rest.
const lengthBytes = 4

// Field numbers of kube-apiserver's messages.
const (
	eventType       protowire.Number = 1
	eventObject     protowire.Number = 2
	extensionRaw    protowire.Number = 1
	envelopeMessage protowire.Number = 2
	metadata        protowire.Number = 1 // of objects and lists
	objectVersion   protowire.Number = 6
	listVersion     protowire.Number = 2
	statusReason    protowire.Number = 4
)

func (Protobuf) mediaType() string { return runtime.ContentTypeProtobuf }

func (Protobuf) cut(head []byte, received int, data []byte) (n int, complete bool) {
	var length [lengthBytes]byte
	known := copy(length[:], head)
	known += copy(length[known:], data)
	n = lengthBytes + int(binary.BigEndian.Uint32(length[:])) - received
	if known < lengthBytes || n > len(data) {
		return len(data), false
	}
	return n, true
}

func (Protobuf) read(frame []byte) event {
	frame = frame[lengthBytes:]
	message := opened(within(frame, eventObject, extensionRaw))
	switch string(within(frame, eventType)) {
	case "ERROR":
		return event{kind: errorEvent, expired: string(within(message, statusReason)) == string(metav1.StatusReasonExpired)}
	case "BOOKMARK":
		return event{kind: bookmarkEvent, version: number(within(message, metadata, objectVersion))}
	}
	return event{version: number(within(message, metadata, objectVersion))}
}

func (Protobuf) listVersion(body []byte) uint64 {
	return number(within(opened(body), metadata, listVersion))
}

// opened returns the message in an envelope.
func opened(body []byte) []byte {
	return within(bytes.TrimPrefix(body, []byte("k8s\x00")), envelopeMessage)
}

func number(text []byte) uint64 {
	n, _ := strconv.ParseUint(string(text), 10, 64)
	return n
}

// within returns the value of a field of a message, of a field of that value, and so on. It returns nil if there is
// none, and the beginning if data ends within it.
func within(data []byte, path ...protowire.Number) []byte {
	for _, number := range path {
		data = field(data, number)
	}
	return data
}

func field(data []byte, number protowire.Number) []byte {
	for {
		found, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil
		}
		data = data[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(found, kind, data); n < 0 {
				return nil
			}
			data = data[n:]
			continue
		}
		length, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return nil
		}
		data = data[n:]
		end := min(length, uint64(len(data)))
		if found == number {
			return data[:end]
		}
		data = data[end:]
	}
}
