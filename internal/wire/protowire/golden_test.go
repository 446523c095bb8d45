package protowire

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listfacade/listfacade/internal/wire"
)

// golden is the state of one kind after reading a list that kube-apiserver's encoder wrote.
type golden struct {
	kind    schema.GroupVersionKind
	objects []runtime.Object
	list    runtime.Object
	body    []byte
	reader  wire.Reader
	shape   wire.Shape
	items   []wire.Item
	facts   []wire.Facts
}

// goldens runs a test for every built-in kind.
func goldens(t *testing.T, test func(*testing.T, *golden)) {
	for _, kind := range builtins() {
		t.Run(kind.GroupVersion().String()+" "+kind.Kind, func(t *testing.T) { test(t, newGolden(t, kind, 3)) })
	}
}

func newGolden(t testing.TB, kind schema.GroupVersionKind, count int) *golden {
	t.Helper()
	g := &golden{kind: kind, objects: filled(t, kind, 7, count)}
	g.list = g.listOf(t, g.objects, metav1.ListMeta{ResourceVersion: "4711", Continue: "token"})
	g.body = encode(t, g.list, listOf(kind))
	d := describe(kind)
	g.reader, g.shape = Encoding{}.Reader(d, wire.RequestFormat{}, wirePaths(kind)), Encoding{}.Shape(d)
	head, err := g.reader.List(g.body, func(item wire.Item, facts wire.Facts) error {
		g.items, g.facts = append(g.items, item), append(g.facts, facts)
		return nil
	})
	if want := (wire.ListHead{ResourceVersion: "4711", Continue: "token"}); err != nil || !cmp.Equal(head, want) || len(g.items) != count {
		t.Fatalf("got %d items, %+v, %v", len(g.items), head, err)
	}
	return g
}

// listOf returns a list of the golden's kind.
func (g *golden) listOf(t testing.TB, objects []runtime.Object, of metav1.ListMeta) runtime.Object {
	t.Helper()
	list, err := scheme.Scheme.New(listOf(g.kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.SetList(list, objects); err != nil {
		t.Fatal(err)
	}
	access, err := meta.ListAccessor(list)
	if err != nil {
		t.Fatal(err)
	}
	access.SetResourceVersion(of.ResourceVersion)
	access.SetContinue(of.Continue)
	access.SetRemainingItemCount(of.RemainingItemCount)
	if of.ShardInfo != nil {
		list.(metav1.ShardedListInterface).SetShardInfo(of.ShardInfo)
	}
	return list
}

// partials returns the metadata of the objects.
func (g *golden) partials(t testing.TB) []metav1.PartialObjectMetadata {
	t.Helper()
	partials := make([]metav1.PartialObjectMetadata, len(g.objects))
	for i, object := range g.objects {
		partials[i] = partialOf(t, object)
	}
	return partials
}

func partialOf(t testing.TB, object runtime.Object) metav1.PartialObjectMetadata {
	t.Helper()
	access, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	return metav1.PartialObjectMetadata{ObjectMeta: *meta.AsPartialObjectMetadata(access).ObjectMeta.DeepCopy()}
}

func same(t *testing.T, what string, want, got []byte) {
	t.Helper()
	if !bytes.Equal(want, got) {
		t.Errorf("%s:\nwant %x\ngot  %x", what, want, got)
	}
}

func written(t testing.TB, shape wire.Shape, representation wire.Representation, meta wire.ListMeta, items []wire.Item) []byte {
	t.Helper()
	var b bytes.Buffer
	body := wire.NewBody(&b, wire.BodyOptions{})
	if err := body.WriteList(wire.List{Shape: shape, Representation: representation, Meta: meta, Runs: pages(items)}); err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shardsOfAll is a shard selector as lists contain it.
const shardsOfAll = "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"

func TestListsAsEncoded(t *testing.T) {
	remaining, none := int64(300), int64(0)
	goldens(t, func(t *testing.T, g *golden) {
		for name, head := range map[string]wire.ListMeta{
			"whole": {ResourceVersion: "4711"}, "page": {ResourceVersion: "4711", Continue: "token", RemainingItemCount: &remaining},
			"selected page": {ResourceVersion: "1", Continue: "token"}, "nothing remains": {ResourceVersion: "1", RemainingItemCount: &none},
			"shard": {ResourceVersion: "1", Continue: "token", Shards: shardsOfAll},
		} {
			for _, count := range []int{0, 1, len(g.items)} {
				of := metav1.ListMeta{ResourceVersion: head.ResourceVersion, Continue: head.Continue, RemainingItemCount: head.RemainingItemCount}
				if head.Shards != "" {
					of.ShardInfo = &metav1.ShardInfo{Selector: head.Shards}
				}
				formOf := func(kind wire.RepresentationKind, v wire.MetaVersion) wire.Representation {
					return wire.Representation{Kind: kind, Meta: v}
				}
				want := encode(t, g.listOf(t, g.objects[:count], of), listOf(g.kind))
				same(t, name, want, written(t, g.shape, formOf(wire.Listed, ""), head, g.items[:count]))

				partials := g.partials(t)[:count]
				want = encode(t, &metav1.PartialObjectMetadataList{ListMeta: of, Items: partials}, metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
				same(t, name+" partial", want, written(t, g.shape, formOf(wire.Partial, wire.MetaV1), head, g.items[:count]))

				want = encode(t, &metav1beta1.PartialObjectMetadataList{ListMeta: of, Items: partials}, metav1beta1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
				same(t, name+" partial v1beta1", want, written(t, g.shape, formOf(wire.Partial, wire.MetaV1Beta1), head, g.items[:count]))
			}
		}
	})
}

func TestObjectsAsEncoded(t *testing.T) {
	goldens(t, func(t *testing.T, g *golden) {
		for i := range g.items {
			for _, version := range []string{"", "8", "18446744073709551615"} {
				object, item := g.objects[i].DeepCopyObject(), g.items[i]
				if version != "" {
					access, err := meta.Accessor(object)
					if err != nil {
						t.Fatal(err)
					}
					access.SetResourceVersion(version)
					between := g.shape.WithResourceVersion(&item, "123456789")
					item = g.shape.WithResourceVersion(&between, version)
				}
				g.objectIn(t, object, &item)
			}
		}
	})
}

// objectIn compares an object in all representations, as a body and in frames.
func (g *golden) objectIn(t *testing.T, object runtime.Object, item *wire.Item) {
	t.Helper()
	partial, old := partialOf(t, object), metav1beta1.PartialObjectMetadata{}
	old = partial
	for representation, want := range map[wire.Representation][]byte{
		{Kind: wire.Whole}:                           encode(t, object, g.kind),
		{Kind: wire.Partial, Meta: wire.MetaV1}:      encode(t, &partial, metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")),
		{Kind: wire.Partial, Meta: wire.MetaV1Beta1}: encode(t, &old, metav1beta1.SchemeGroupVersion.WithKind("PartialObjectMetadata")),
	} {
		same(t, "object", want, g.shape.AppendObject([]byte("before"), representation, item, time.Time{})[len("before"):])
		framer := g.shape.Framer(representation)
		for _, event := range []string{wire.TypeAdded, wire.TypeModified, wire.TypeDeleted} {
			same(t, event, frame(t, event, want), framer.AppendEvent(nil, event, item))
		}
	}
}

// frame returns a watch frame as kube-apiserver writes it around an encoded object.
func frame(t testing.TB, event string, object []byte) []byte {
	t.Helper()
	message, err := (&metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func TestFramesAreRead(t *testing.T) {
	goldens(t, func(t *testing.T, g *golden) {
		for i, object := range g.objects {
			read, err := g.reader.Frame(frame(t, wire.TypeModified, encode(t, object, g.kind))[4:])
			if err != nil {
				t.Fatal(err)
			}
			want := wire.Frame{Type: wire.TypeModified, ResourceVersion: g.facts[i].ResourceVersion, Facts: g.facts[i]}
			item := read.Item
			read.Item = wire.Item{}
			if diff := cmp.Diff(want, read, cmp.AllowUnexported(wire.Item{})); diff != "" {
				t.Error(diff)
			}
			if !cmp.Equal(g.items[i], item, cmp.AllowUnexported(wire.Item{})) {
				t.Error("item from the frame differs from the item from the list")
			}
		}
	})
}

func TestErrorFrames(t *testing.T) {
	d := describe(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: 410,
		Reason: metav1.StatusReasonExpired, Message: "too old resource version: 1 (2)",
	}
	want := frame(t, wire.TypeError, encode(t, status, schema.GroupVersionKind{Version: "v1", Kind: "Status"}))
	for _, representation := range []wire.Representation{{Kind: wire.Whole}, {Kind: wire.Partial, Meta: wire.MetaV1}} {
		got := Encoding{}.Shape(d).Framer(representation).AppendError(nil, status)
		same(t, "error", want, got)
	}
	read, err := Encoding{}.Reader(d, wire.RequestFormat{}, nil).Frame(want[4:])
	if err != nil || read.Failure == nil || read.Failure.Code != 410 {
		t.Fatalf("got %+v, %v, want code 410", read, err)
	}
	if text := string(read.Failure.Status); text != `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"too old resource version: 1 (2)","reason":"Expired","code":410}` {
		t.Errorf("got Status %s", text)
	}
}

// A bookmark is an empty object of the kind. Both bookmarks are learned from either of them.
func TestBookmarksAsEncoded(t *testing.T) {
	goldens(t, func(t *testing.T, g *golden) {
		for _, kept := range []map[string]string{nil, {"deprecated": "0", "zone": "b"}} {
			bookmark := func(rv string, end bool) []byte {
				object, err := scheme.Scheme.New(g.kind)
				if err != nil {
					t.Fatal(err)
				}
				access, err := meta.Accessor(object)
				if err != nil {
					t.Fatal(err)
				}
				annotations := map[string]string{}
				for key, value := range kept {
					annotations[key] = value
				}
				if end {
					annotations[endKey] = "true"
				}
				if len(annotations) > 0 {
					access.SetAnnotations(annotations)
				}
				access.SetResourceVersion(rv)
				return frame(t, wire.TypeBookmark, encode(t, object, g.kind))
			}
			for _, taught := range []bool{false, true} {
				line := bookmark("99", taught)[4:]
				read, err := g.reader.Frame(line)
				if err != nil || read.ResourceVersion != "99" || read.InitialEventsEnd != taught {
					t.Fatalf("got %+v, %v", read, err)
				}
				marks, err := g.reader.Bookmark(line)
				if err != nil {
					t.Fatal(err)
				}
				framer := g.shape.Framer(wire.Representation{Kind: wire.Whole})
				plain, end := g.shape.WithResourceVersion(&marks.Plain, "1234567"), g.shape.WithResourceVersion(&marks.InitialEventsEnd, "5")
				same(t, "plain", bookmark("1234567", false), framer.AppendBookmark(nil, &plain))
				same(t, "end", bookmark("5", true), framer.AppendInitialEventsEnd(nil, &end))
			}
		}
	})
}
