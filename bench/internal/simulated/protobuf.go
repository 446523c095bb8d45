package simulated

import (
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// wantsProtobuf reports whether a request asks for complete objects in protobuf.
func wantsProtobuf(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.HasPrefix(accept, runtime.ContentTypeProtobuf) && !strings.Contains(accept, "as=")
}

// nested is above the maximum depth of fields in a pod.
const nested = 16

// appendProtobuf appends the protobuf message of a pod.
func (p *Pods) appendProtobuf(b []byte, i int, s state) []byte {
	f, seed := &p.template(i).protobuf, mix(uint64(i))
	var begins [nested]int
	depth := 0
	for _, piece := range f.pieces {
		b = append(b, piece.text...)
		switch piece.hole.part {
		case partBegin:
			begins[depth] = len(b)
			depth++
		case partEnd:
			depth--
			b = insertLength(b, begins[depth])
		default:
			b = p.appendPart(b, i, seed, piece.hole, s)
		}
	}
	return append(b, f.tail...)
}

// insertLength inserts, at a position, the length of all bytes after it.
func insertLength(b []byte, at int) []byte {
	var length [binary.MaxVarintLen64]byte
	return slices.Insert(b, at, protowire.AppendVarint(length[:0], uint64(len(b)-at))...)
}

// Field numbers of a list.
const (
	listMetadata protowire.Number = 1
	listItems    protowire.Number = 2
)

func (s *Server) appendProtobufList(b []byte, p *page) []byte {
	meta, err := p.meta.Marshal()
	if err != nil {
		panic("BUG: encode list metadata: " + err.Error())
	}
	scratched := scratch.Get().(*[]byte)
	defer scratch.Put(scratched)
	list := protowire.AppendTag((*scratched)[:0], listMetadata, protowire.BytesType)
	list = protowire.AppendBytes(list, meta)
	for i, state := range p.states {
		list = protowire.AppendTag(list, listItems, protowire.BytesType)
		at := len(list)
		list = insertLength(s.pods.appendProtobuf(list, p.from+i, state), at)
	}
	*scratched = list
	return appendEnvelope(b, "PodList", list)
}

// appendEnvelope appends a message in the envelope of kube-apiserver.
func appendEnvelope(b []byte, kind string, message []byte) []byte {
	object := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: message}
	return appendMessage(append(b, "k8s\x00"...), &object)
}

// message is a message of k8s.io/apimachinery.
type message interface {
	Size() int
	MarshalTo([]byte) (int, error)
}

func appendMessage(b []byte, m message) []byte {
	at, size := len(b), m.Size()
	b = slices.Grow(b, size)[:at+size]
	if _, err := m.MarshalTo(b[at:]); err != nil {
		panic("BUG: encode a message: " + err.Error())
	}
	return b
}

// protobufFrames implements frames.
type protobufFrames struct {
	pods            *Pods
	message, object []byte // buffers
}

func (f *protobufFrames) event(b []byte, e event) []byte {
	f.message = f.pods.appendProtobuf(f.message[:0], e.pod, e.state)
	return f.frame(b, watch.Modified)
}

func (f *protobufFrames) bookmark(b []byte, version uint64, initial bool) []byte {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(version, 10)}}
	if initial {
		pod.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	f.message = appendMessage(f.message[:0], &pod)
	return f.frame(b, watch.Bookmark)
}

// frame appends an event with the buffered message. The length of the event precedes the event.
func (f *protobufFrames) frame(b []byte, kind watch.EventType) []byte {
	f.object = appendEnvelope(f.object[:0], "Pod", f.message)
	event := metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: f.object}}
	return appendMessage(binary.BigEndian.AppendUint32(b, uint32(event.Size())), &event) //nolint:gosec // one pod
}
