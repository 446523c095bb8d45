package protowire

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

func podReader() wire.Reader {
	return Encoding{}.Reader(describe(podKind), wire.RequestFormat{}, wirePaths(podKind))
}

func nothing(wire.Item, wire.Facts) error { return nil }

// Malformed lists, frames and objects cause a MalformedError.
func TestMalformedInput(t *testing.T) {
	g := newGolden(t, podKind, 2)
	object, other := encode(t, g.objects[1], podKind), describe(schema.GroupVersionKind{Version: "v1", Kind: "Node"})
	version := func(rv []byte) []byte { return appendField(nil, metaVersion, rv) }
	twice := appendField(appendField(nil, objectMetadata, version([]byte("1"))), objectMetadata, version([]byte("2")))
	long := []byte{0x0a, 0x83, 0x00, 0x32, 0x01, '7'} // its length has one byte more than necessary
	in := func(e envelope, message []byte) []byte {
		return append(append(e.appendHead(nil, len(message)), message...), envelopeTail...)
	}
	list := newEnvelope("v1", "PodList")
	for name, body := range map[string][]byte{
		"nothing": nil, "JSON": []byte(`{"kind":"PodList"}`), "no message": list, "an object": object, "cut off": g.body[:len(g.body)-10],
		"another kind's": in(newEnvelope("v1", "NodeList"), nil), "no metadata": in(list, nil),
		"metadata that is a number": in(list, protowire.AppendVarint(protowire.AppendTag(nil, protowire.Number(listMetadata), protowire.VarintType), 7)),
		"an item that is a number":  in(list, append([]byte{0x0a, 0x00}, 0x10, 0x07)),
		"an item without a version": in(list, append([]byte{0x0a, 0x00}, 0x12, 0x02, 0x0a, 0x00)),
		"an item's metadata twice":  in(list, appendField([]byte{0x0a, 0x00}, listItems, twice)),
		"an item's long length":     in(list, appendField([]byte{0x0a, 0x00}, listItems, long)),
		"an encoded message":        append(slices.Clone(g.body[:len(g.body)-4]), "\x1a\x01x\x22\x00"...),
	} {
		_, err := podReader().List(body, nothing)
		var malformed *MalformedError
		if !errors.As(err, &malformed) {
			t.Errorf("list: %s: got %v, want a MalformedError", name, err)
		}
	}
	whole := frame(t, wire.TypeAdded, object)[4:]
	for name, line := range map[string][]byte{
		"nothing": nil, "no object": appendField(nil, eventType, "ADDED"), "cut off": whole[:len(whole)-5], "a list": frame(t, wire.TypeAdded, g.body)[4:],
		"an error that is no Status": frame(t, wire.TypeError, object)[4:], "of another kind": frame(t, wire.TypeAdded, in(newShape(other).whole, nil))[4:],
	} {
		_, err := podReader().Frame(line)
		var malformed *MalformedError
		if !errors.As(err, &malformed) {
			t.Errorf("frame: %s: got %v, want a MalformedError", name, err)
		}
	}
}

// A real object is never replayed as a bookmark.
func TestBookmarksWithNamesAreRejected(t *testing.T) {
	g := newGolden(t, podKind, 2)
	marks, err := g.reader.Bookmark(frame(t, wire.TypeBookmark, encode(t, g.objects[1], podKind))[4:])
	var malformed *MalformedError
	if !errors.As(err, &malformed) {
		t.Errorf("bookmark with a name: got %v, want a MalformedError", err)
	}
	if least := g.shape.Bookmark(); !bytes.Equal(message(&marks.Plain), message(&least.Plain)) {
		t.Errorf("got bookmark %x, want the minimal one", message(&marks.Plain))
	}
}

// Unknown fields in objects and metadata are unchanged.
func TestUnknownFieldsAreKept(t *testing.T) {
	g := newGolden(t, podKind, 2)
	metadata := appendField(slices.Clone(metadata(opened(&g.items[1]))), 99, "from a newer release")
	object := appendField(appendField(nil, objectMetadata, metadata), 98, "another")
	item, facts, err := newExtractor(podKind, wirePaths(podKind)).scan(object)
	if err != nil || facts.Name != "object-1" || !bytes.Equal(message(&item), object) {
		t.Fatalf("got %+v, %v", facts, err)
	}
	back := withVersion(&item, "123456789012")
	if back = withVersion(&back, facts.ResourceVersion); !bytes.Equal(message(&back), object) {
		t.Errorf("got %x, want %x", message(&back), object)
	}
}

func FuzzList(f *testing.F) {
	g := newGolden(f, podKind, 3)
	f.Add(g.body)
	f.Add(g.body[:len(g.body)/2])
	f.Add([]byte("k8s\x00\x0a\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var items []wire.Item
		head, err := podReader().List(body, func(item wire.Item, _ wire.Facts) error {
			items = append(items, item)
			return nil
		})
		if err != nil {
			return
		}
		// The items that were read can be written, and read again.
		shape := Encoding{}.Shape(describe(podKind))
		again := written(t, shape, wire.Representation{Kind: wire.Listed}, wire.ListMeta{ResourceVersion: head.ResourceVersion, Continue: head.Continue}, items)
		at := 0
		second, err := podReader().List(again, func(item wire.Item, _ wire.Facts) error {
			if !bytes.Equal(message(&item), message(&items[at])) {
				t.Errorf("item %d changed", at)
			}
			at++
			return nil
		})
		if err != nil || at != len(items) || second.ResourceVersion != head.ResourceVersion || second.Continue != head.Continue {
			t.Errorf("got %d of %d items, %+v, want %+v: %v", at, len(items), second, head, err)
		}
	})
}

func FuzzFrame(f *testing.F) {
	g := newGolden(f, podKind, 2)
	f.Add(frame(f, wire.TypeModified, encode(f, g.objects[1], podKind))[4:])
	f.Add(frame(f, wire.TypeBookmark, encode(f, g.objects[0], podKind))[4:])
	f.Add([]byte("\x0a\x05ERROR\x12\x00"))
	f.Fuzz(func(t *testing.T, line []byte) {
		reader := podReader()
		read, err := reader.Frame(line)
		if err == nil && read.Failure == nil && read.ResourceVersion == "" {
			t.Errorf("got a frame without a version: %+v", read)
		}
		marks, _ := reader.Bookmark(line)
		shape := Encoding{}.Shape(describe(podKind))
		if plain := shape.WithResourceVersion(&marks.Plain, "77"); len(shape.Framer(wire.Representation{Kind: wire.Whole}).AppendBookmark(nil, &plain)) == 0 {
			t.Error("got no bookmark")
		}
	})
}

func FuzzFacts(f *testing.F) {
	g := newGolden(f, podKind, 3)
	for i := range g.items {
		f.Add(message(&g.items[i]), "9")
	}
	e := newExtractor(podKind, wirePaths(podKind))
	f.Fuzz(func(t *testing.T, data []byte, rv string) {
		item, facts, err := e.scan(data)
		if err != nil {
			return
		}
		moved := withVersion(&item, rv)
		_, after, err := e.scan(message(&moved))
		if err != nil || after.ResourceVersion != rv || after.Name != facts.Name || !slices.Equal(after.Fields, facts.Fields) {
			t.Errorf("%+v with version %q: got %+v, %v", facts, rv, after, err)
		}
		if back := withVersion(&moved, facts.ResourceVersion); !bytes.Equal(message(&back), data) {
			t.Errorf("got %x, want %x", message(&back), data)
		}
	})
}
