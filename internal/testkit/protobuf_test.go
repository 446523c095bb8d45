package testkit

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// marshaler is the interface of all API types with a protobuf encoding.
type marshaler interface{ Marshal() ([]byte, error) }

func marshalled(t *testing.T, object marshaler) []byte {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func envelope(t *testing.T, apiVersion, kind string, object marshaler) []byte {
	t.Helper()
	unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: marshalled(t, object)}
	return slices.Concat(envelopeMagic, marshalled(t, unknown))
}

// message returns a frame of a watch without its length.
func message(t *testing.T, event string, envelope []byte) []byte {
	t.Helper()
	return marshalled(t, &metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: envelope}})
}

func configMaps(rv, token, itemRV string) *corev1.ConfigMapList {
	return &corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: rv, Continue: token, RemainingItemCount: new(int64(3))},
		Items:    []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: itemRV}}},
	}
}

func TestMaskProtobuf(t *testing.T) {
	token := func(rv string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":` + rv + `,"start":"/a\u0000"}`))
	}
	list := func(rv, itemRV string) []byte {
		return envelope(t, "v1", "ConfigMapList", configMaps(rv, token(rv), itemRV))
	}
	if want, got := maskList(list("7", "5")), maskList(list("12345", "5")); !bytes.Equal(want, got) {
		t.Errorf("two versions of a list differ after masking:\n%s", around(want, got))
	}
	for name, other := range map[string][]byte{
		"an object's version":                   list("7", "6"),
		"the rest of a token":                   envelope(t, "v1", "ConfigMapList", configMaps("7", token(`7,"x":1`), "5")),
		"the kind":                              envelope(t, "v1", "SecretList", configMaps("7", token("7"), "5")),
		"a length that is written in two bytes": bytes.Replace(list("7", "5"), []byte("\x12\x017\x1a"), []byte("\x12\x81\x007\x1a"), 1),
	} {
		if bytes.Equal(maskList(list("7", "5")), maskList(other)) {
			t.Errorf("masking hides %s", name)
		}
	}
	old := func(rv string) []byte { // its items come first
		return envelope(t, "meta.k8s.io/v1beta1", "PartialObjectMetadataList", &metav1beta1.PartialObjectMetadataList{
			ListMeta: metav1.ListMeta{ResourceVersion: rv, Continue: token(rv)},
			Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "5"}}},
		})
	}
	if want, got := maskList(old("7")), maskList(old("12345")); !bytes.Equal(want, got) {
		t.Errorf("two versions of an old list differ after masking:\n%s", around(want, got))
	}
	if got := (&Answer{Body: old("12345")}).listVersion(); got != 12345 {
		t.Errorf("the old list's version is read as %d", got)
	}
	answer := &Answer{Body: list("12345", "5")}
	if got := answer.listVersion(); got != 12345 {
		t.Errorf("the list's version is read as %d", got)
	}
	status := func(current string) []byte {
		return envelope(t, "v1", "Status", &metav1.Status{Message: "Too large resource version: 9, current: " + current, Code: 504})
	}
	for _, framed := range []bool{false, true} {
		want, got, other := status("7"), status("12345"), envelope(t, "v1", "Status", &metav1.Status{Message: "Too large", Code: 504})
		if framed {
			want, got, other = message(t, "ERROR", want), message(t, "ERROR", got), message(t, "ERROR", other)
		}
		if !bytes.Equal(maskBody(want), maskBody(got)) {
			t.Errorf("two current versions differ after masking:\n%s", around(maskBody(want), maskBody(got)))
		}
		if bytes.Equal(maskBody(want), maskBody(other)) {
			t.Error("masking hides the text of an error")
		}
	}
	mark := func(rv, name string) Frame {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: rv}}
		return Frame{Line: message(t, Bookmark, envelope(t, "v1", "ConfigMap", object))}
	}
	if !bytes.Equal(maskFrame(mark("7", "")), maskFrame(mark("12345", ""))) {
		t.Error("two bookmarks differ after masking")
	}
	if bytes.Equal(maskFrame(mark("7", "")), maskFrame(mark("7", "x"))) {
		t.Error("masking hides other content of a bookmark than its version")
	}
}

// A protobuf watch is checked against the same model as a JSON watch, and is printed as text.
func TestProtobufFrames(t *testing.T) {
	asMessage := func(line string) []byte {
		e, err := (Frame{Line: []byte(line)}).Event()
		if err != nil {
			t.Fatal(err)
		}
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "12"}}
		if e.Type != Bookmark {
			object.Namespace, object.Name, object.Labels = "ns", "b", map[string]string{"color": "blue"}
		}
		return message(t, e.Type, envelope(t, "v1", "ConfigMap", object))
	}
	told := asMessage(frame("ADDED", "ns/b", 12, "blue"))
	event, err := (Frame{Line: told}).Event()
	if err != nil || event.String() != "ADDED ns/b@12" {
		t.Fatalf("%s, %v", event, err)
	}
	if text := string(asObject(told)); !strings.Contains(text, `"labels":{"color":"blue"}`) {
		t.Errorf("shown as %s", text)
	}
	other := bytes.Replace(told, []byte("blue"), []byte("bluf"), 1)
	if diff := around(told, other); !strings.Contains(diff, `"color":"bluf"`) {
		t.Errorf("a difference is shown as %s", diff)
	}
	unknown := bytes.Replace(told, []byte("k8s\x00"), []byte("k9s\x00"), 1)
	if diff := around(told, unknown); !strings.Contains(diff, `1:"ADDED"`) {
		t.Errorf("a difference in what cannot be decoded is shown as %s", diff)
	}
}

func TestCutters(t *testing.T) {
	framed := func(messages ...string) string {
		var all []byte
		for _, m := range messages {
			all = append(binary.BigEndian.AppendUint32(all, uint32(len(m))), m...)
		}
		return string(all)
	}
	stream := http.Header{"Content-Type": {mediaTypeProtobuf + ";stream=watch"}}
	for name, c := range map[string]struct {
		header http.Header
		body   string
		want   []string
		end    error
	}{
		"lines":                {http.Header{"Content-Type": {"application/json"}}, "a\nb\n", []string{"a", "b"}, io.EOF},
		"half a line":          {http.Header{}, "a\nb", []string{"a", "b"}, io.ErrUnexpectedEOF},
		"messages":             {stream, framed("\na\n", "\nb"), []string{"\na\n", "\nb"}, io.EOF},
		"half a message":       {stream, framed("\na\n", "\nbcd")[:10], []string{"\na\n"}, io.ErrUnexpectedEOF},
		"half a length":        {stream, framed("\na\n", "\nbcd")[:9], []string{"\na\n"}, io.ErrUnexpectedEOF},
		"a refusal":            {http.Header{"Content-Type": {mediaTypeProtobuf}}, "k8s\x00\n\nx", []string{"k8s\x00\n\nx"}, io.EOF},
		"messages of a socket": {nil, framed("\na\n"), []string{"\na\n"}, io.EOF},
		"lines of a socket":    {nil, "{}\n", []string{"{}"}, io.EOF},
	} {
		from, cut := bufio.NewReader(strings.NewReader(c.body)), cutterFor(c.header)
		var got []string
		var err error
		for err == nil {
			var frame []byte
			if frame, err = cut(from); err == nil || len(frame) > 0 {
				got = append(got, string(frame))
			}
		}
		if !slices.Equal(got, c.want) || !errors.Is(err, c.end) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
