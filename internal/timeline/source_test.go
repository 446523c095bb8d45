package timeline

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listfacade/listfacade/internal/journal"
)

// protobufLane returns the writer of a lane of ConfigMaps in protobuf. Objects of other kinds are not decoded.
func protobufLane(t *testing.T, j *journal.Journal, name, resource, listKind string) *lane {
	l := newLane(t, j, name, resource, listKind)
	l.id.Encoding, l.id.Accept = "protobuf", runtime.ContentTypeProtobuf
	of, err := newSource(&l.id)
	if err != nil {
		t.Fatal(err)
	}
	l.reader = of.reader
	return l
}

// framed returns a watch frame in protobuf.
func framed(t *testing.T, apiVersion, kind string, object *corev1.ConfigMap) func(string) []byte {
	return func(string) []byte {
		t.Helper()
		object.TypeMeta = metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
		var body bytes.Buffer
		serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
		if err := serializer.Encode(object, &body); err != nil {
			t.Fatal(err)
		}
		event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: body.Bytes()}}
		raw, err := event.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
}

func configMapAt(rv uint64, data string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", UID: types.UID("1"), ResourceVersion: fmt.Sprint(rv),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Time: &metav1.Time{Time: timeOf(rv)}}},
		},
		Data: map[string]string{"a": data},
	}
}

func TestProtobufIsConverted(t *testing.T) {
	j, dir := tempJournal(t)
	l := protobufLane(t, j, "configmaps..v1.protobuf", configMaps, "ConfigMapList")
	l.begin(100, journal.Position{})
	l.frame = framed(t, "v1", "ConfigMap", configMapAt(101, "1"))
	l.upsert("")
	l.frame = framed(t, "v1", "ConfigMap", configMapAt(102, "2"))
	l.upsert("")
	want := []string{
		"2026-11-26T03:47:01.000Z 101 created m <none>",
		"2026-11-26T03:47:02.000Z 102 changed m data.a: 1 -> 2",
	}
	if diff := cmp.Diff(want, rows(logged(t, shopLog(dir, "", "now"), "configmaps/web"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Built-in kinds that are not in k8s.io/api, such as CustomResourceDefinitions, have known metadata only.
func TestUnknownKindsShowMetadata(t *testing.T) {
	j, dir := tempJournal(t)
	l := protobufLane(t, j, "others.ex.io.v1.protobuf", "ex.io/v1, Resource=others", "OtherList")
	l.begin(100, journal.Position{})
	l.frame = framed(t, "ex.io/v1", "Other", configMapAt(101, "1"))
	l.upsert("")
	second := configMapAt(102, "2")
	second.Labels = map[string]string{"x": "y"}
	l.frame = framed(t, "ex.io/v1", "Other", second)
	l.upsert("")
	const note = "(recorded in protobuf only: the fields of this kind are unknown)"
	want := []string{
		"2026-11-26T03:47:01.000Z 101 created m " + note,
		`2026-11-26T03:47:02.000Z 102 changed m +metadata.labels: {"x":"y"}, ` + note,
	}
	if diff := cmp.Diff(want, rows(logged(t, shopLog(dir, "", "now"), "others/web"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The objects of a resource that is recorded in several versions are compared once.
func TestStableVersionIsRead(t *testing.T) {
	j, dir := tempJournal(t)
	for _, version := range []string{"v1beta1", "v1", "v2alpha1"} {
		l := newLane(t, j, "others.ex.io."+version, "ex.io/"+version+", Resource=others", "OtherList")
		l.begin(100, journal.Position{})
		l.progress(190)
	}
	o := table(dir, "101", "now")
	p, _, err := o.open(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := p.spans()
	if err != nil || len(spans) != 1 || spans[0].resource.Version != "v1" {
		t.Errorf("got %v, %v, want one span of v1", spans, err)
	}
}

// JSON is preferred to protobuf, but not if it has more holes.
func TestEncodingWithFewestHolesIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		begin uint64
		want  string
	}{
		"both from the beginning": {100, "json"},
		"JSON later":              {105, "protobuf"},
	} {
		j, dir := tempJournal(t)
		inProtobuf := protobufLane(t, j, "configmaps..v1.protobuf", configMaps, "ConfigMapList")
		inProtobuf.begin(100, journal.Position{})
		inProtobuf.progress(190)
		inJSON := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
		inJSON.begin(c.begin, journal.Position{})
		inJSON.progress(190)
		o := table(dir, "101", "now")
		p, _, err := o.open(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		spans, err := p.spans()
		if err != nil || len(spans) != 1 || spans[0].encoding != c.want {
			t.Errorf("%s: got %v, %v, want one span in %s", name, spans, err, c.want)
		}
	}
}
