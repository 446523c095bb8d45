package reflector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/snapshot"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

// recordingOf returns how config maps are read in an encoding, and their shape.
func recordingOf(e wire.Encoding) (*listWatch, wire.Shape) {
	r := upstream.Resource{GVR: configMaps.GVR, GVK: configMaps.GVR.GroupVersion().WithKind(configMaps.Kind), Namespaced: true}
	kind, asks := kindOf(r, definition{}), e.RequestFormats()
	about := wire.Description{Resource: r.GVR, Kind: r.GVK, ListKind: "ConfigMapList"}
	ask := asks[len(asks)-1] // the request without cells
	return &listWatch{
		resource: r, kind: kind, about: about, framing: e.Framing(), ask: ask, reader: e.Reader(about, ask, pathsOf(kind)),
	}, e.Shape(about)
}

// recordedFrame returns a frame of a config map, or of a bookmark if the name is empty.
func recordedFrame(f testing.TB, e wire.Encoding, event, name string, rv int, ends bool) []byte {
	f.Helper()
	about := metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}
	object := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: fmt.Sprint(rv)}}
	if name != "" {
		object.Namespace, object.Data = "ns", map[string]string{"key": "value"}
	}
	if ends {
		object.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	if e.Name() == (jsonwire.Encoding{}).Name() {
		end := ""
		if ends {
			end = `,"annotations":{"k8s.io/initial-events-end":"true"}`
		}
		text := fmt.Sprintf(`"metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"},"data":{"key":"value"}`, name, rv)
		if name == "" {
			text = fmt.Sprintf(`"metadata":{"resourceVersion":"%d"%s}`, rv, end)
		}
		return fmt.Appendf(nil, `{"type":%q,"object":{"kind":"ConfigMap","apiVersion":"v1",%s}}`+"\n", event, text)
	}
	raw, err := object.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	enveloped, err := (&k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{APIVersion: about.APIVersion, Kind: about.Kind}, Raw: raw}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	frame, err := (&metav1.WatchEvent{Type: event, Object: k8sruntime.RawExtension{Raw: append([]byte(protobufMagic), enveloped...)}}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...) //nolint:gosec // some hundred bytes
}

// recording returns a snapshot's content: two objects at 4, and two events up to 6.
func recording(f testing.TB, e wire.Encoding) []byte {
	f.Helper()
	return bytes.Join([][]byte{
		recordedFrame(f, e, "ADDED", "a", 2, false), recordedFrame(f, e, "ADDED", "b", 3, false), recordedFrame(f, e, "BOOKMARK", "", 4, true),
		recordedFrame(f, e, "MODIFIED", "a", 5, false), recordedFrame(f, e, "DELETED", "b", 6, false), recordedFrame(f, e, "BOOKMARK", "", 7, false),
	}, nil)
}

var encodings = map[bool]wire.Encoding{false: jsonwire.Encoding{}, true: protowire.Encoding{}}

// FuzzRecorded checks that any frames of a snapshot are read and match its header, or are refused and leave nothing in
// the lane.
func FuzzRecorded(f *testing.F) {
	for binary, e := range encodings {
		whole := recording(f, e)
		f.Add(binary, 2, 2, uint64(4), uint64(7), whole)
		f.Add(binary, 2, 1, uint64(4), uint64(7), whole)
		f.Add(binary, 3, 2, uint64(4), uint64(7), whole)
		f.Add(binary, 2, 2, uint64(4), uint64(7), whole[:len(whole)-1])
		f.Add(binary, 2, 2, uint64(5), uint64(7), whole)
		f.Add(binary, 2, 2, uint64(4), uint64(7), bytes.ReplaceAll(whole, []byte("b"), []byte("a")))
		f.Add(binary, 0, 0, uint64(4), uint64(4), recordedFrame(f, e, "BOOKMARK", "", 4, true))
		f.Add(binary, 0, 0, uint64(0), uint64(0), []byte{})
		f.Add(binary, 0, 1, uint64(4), uint64(4), append(recordedFrame(f, e, "BOOKMARK", "", 4, true), recordedFrame(f, e, "ADDED", "a", 4, false)...))
		f.Add(binary, 0, 0, uint64(0), uint64(0), recordedFrame(f, e, "ERROR", "a", 4, false))
		f.Add(binary, 1, 0, uint64(4), uint64(4), append(recordedFrame(f, e, "ADDED", "a", 5, false), recordedFrame(f, e, "BOOKMARK", "", 4, true)...))
	}
	f.Fuzz(func(t *testing.T, binary bool, objects, events int, base, rv uint64, frames []byte) {
		by, shape := recordingOf(encodings[binary])
		lane := cache.NewLane(cache.Options{Packing: cache.Packing{From: 1}})
		defer lane.Close()
		c := newRecorded(by, shape, lane)
		from := &snapshot.Snapshot{Header: snapshot.Header{Base: base, RV: rv, Objects: objects, Events: events}, Reader: bytes.NewReader(frames)}
		err := c.read(t.Context(), from, func(int64) error { return ErrNoMemory })
		if state, unread := lane.State(); unread == nil {
			t.Fatalf("got a State at %d before the check, want none", state.RV())
		}
		if err != nil {
			c.filling.Drop()
			if stats := lane.Stats(); stats.Memory() != 0 {
				t.Errorf("got %d bytes in use after the refusal: %v", stats.Memory(), err)
			}
			return
		}
		if err := c.past.Show(c.rv); err != nil {
			t.Fatal(err)
		}
		state, err := lane.State()
		if err != nil || uint64(state.RV()) != rv || state.Len() != len(c.versions) || c.events != events {
			t.Fatalf("got %+v, %v for the header %+v", state, err, from.Header)
		}
		for o := range state.Objects(cache.Span{}) {
			if c.versions[o.Key()] != o.RV.String() {
				t.Errorf("got %s at %d, want %s as checked", o.Key(), o.RV, c.versions[o.Key()])
			}
		}
	})
}

// TestRecordedIsRead checks that the seeds of FuzzRecorded are read, and refused if they are cut short.
func TestRecordedIsRead(t *testing.T) {
	for _, e := range encodings {
		by, shape := recordingOf(e)
		read := func(frames []byte) error {
			c := newRecorded(by, shape, cache.NewLane(cache.Options{}))
			from := &snapshot.Snapshot{Header: snapshot.Header{Base: 4, RV: 7, Objects: 2, Events: 2}, Reader: bytes.NewReader(frames)}
			return c.read(t.Context(), from, func(int64) error { return nil })
		}
		whole := recording(t, e)
		if err := read(whole); err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
		for i := range len(whole) - 1 { // JSON is complete without its last newline
			if err := read(whole[:i]); err == nil {
				t.Errorf("%s: got no error for %d of %d bytes", e.Name(), i, len(whole))
			}
		}
	}
}

// TestWrongLengthsAllocateNothing checks that a wrong length allocates no memory. Received bytes do, up to the largest
// frame or the lane's limit.
func TestWrongLengthsAllocateNothing(t *testing.T) {
	for name, test := range map[string]struct {
		binary  bool
		objects int
		frames  io.Reader
		want    error
	}{
		"a frame of 64 MiB":                 {binary: true, frames: strings.NewReader("\x03\xff\xff\xffabc")},
		"a frame of 4 GiB":                  {binary: true, frames: strings.NewReader("\xff\xff\xff\xffabc")},
		"an item of 2 GiB":                  {binary: true, frames: strings.NewReader("\x00\x00\x00\x06\x0a\xff\xff\xff\xff\x07")},
		"more objects than the header says": {objects: 1, frames: bytes.NewReader(recording(t, jsonwire.Encoding{})), want: snapshot.ErrBroken},
		"a thousand million":                {objects: 1e9, frames: strings.NewReader(""), want: snapshot.ErrBroken},
	} {
		t.Run(name, func(t *testing.T) {
			by, shape := recordingOf(encodings[test.binary])
			c := newRecorded(by, shape, cache.NewLane(cache.Options{}))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.read(t.Context(), &snapshot.Snapshot{Header: snapshot.Header{Objects: test.objects}, Reader: test.frames}, func(int64) error { return nil })
			runtime.ReadMemStats(&after)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
				t.Errorf("got %d bytes allocated", took)
			}
		})
	}
}
