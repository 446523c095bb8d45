package protowire

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// page is a page of items.
type page []wire.Item

func (p page) Len() int               { return len(p) }
func (p page) Item(at int) *wire.Item { return &p[at] }

func (p page) Precompressed() *wire.PrecompressedPage { return nil }

// pages yields items in pages of two.
func pages(items []wire.Item) iter.Seq[wire.Run] {
	return func(yield func(wire.Run) bool) {
		for len(items) > 0 {
			n := min(2, len(items))
			if !yield(wire.Run{Page: page(items[:n]), To: n}) {
				return
			}
			items = items[n:]
		}
	}
}

// encode returns an object with this type meta as kube-apiserver's encoder writes it.
func encode(t testing.TB, object runtime.Object, kind schema.GroupVersionKind) []byte {
	t.Helper()
	object.GetObjectKind().SetGroupVersionKind(kind)
	var b bytes.Buffer
	s := protobuf.NewSerializerWithOptions(scheme.Scheme, scheme.Scheme, protobuf.SerializerOptions{StreamingCollectionsEncoding: true})
	if err := s.Encode(object, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// builtins returns the built-in kinds of the current API that can be listed.
func builtins() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for kind, of := range scheme.Scheme.AllKnownTypes() {
		if _, ok := of.FieldByName("ObjectMeta"); !ok || !scheme.Scheme.Recognizes(listOf(kind)) || kind.Version == runtime.APIVersionInternal {
			continue
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func listOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	return kind.GroupVersion().WithKind(kind.Kind + "List")
}

// describe returns the description of a kind. The resource name is only relevant for conversion annotations.
func describe(kind schema.GroupVersionKind) wire.Description {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return wire.Description{Resource: resource, Kind: kind, ListKind: kind.Kind + "List"}
}

// filled returns objects of a kind: one empty, the others with values in all fields.
func filled(t testing.TB, kind schema.GroupVersionKind, seed int64, count int) []runtime.Object {
	t.Helper()
	codecs := serializer.NewCodecFactory(scheme.Scheme)
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), codecs).NilChance(0.6).NumElements(0, 2).MaxDepth(9)
	objects := make([]runtime.Object, count)
	for i := range objects {
		object, err := scheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 { // the first is empty
			fill.Fill(object)
		}
		access, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		access.SetName(fmt.Sprintf("object-%d", i))
		access.SetResourceVersion(fmt.Sprint(1000 + i))
		objects[i] = object
	}
	return objects
}

// message returns the object of an item.
func message(it *wire.Item) []byte { return item.Append(nil, it) }
