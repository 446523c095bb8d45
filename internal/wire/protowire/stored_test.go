package protowire

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/wire"
)

// TestStoredItemsAreTheSame reads plain and packed items back, with the same marks and facts. Damaged ones are errors,
// or objects that can be written.
func TestStoredItemsAreTheSame(t *testing.T) {
	for _, kind := range builtins()[:10] {
		g := newGolden(t, kind, 2)
		kept := packed(t, g.items)
		by, err := wire.ReadDictionary(wire.DictionaryOf(&kept[0]).AppendStored(nil))
		if err != nil {
			t.Fatal(err)
		}
		dictionaries := []*wire.Dictionary{by}
		for i := range g.items {
			for _, form := range [][]byte{wire.AppendStored(nil, &g.items[i], 0), wire.AppendStored(nil, &kept[i], 1)} {
				got, facts, err := g.reader.Stored(form, dictionaries)
				if err != nil || !got.Equal(&g.items[i]) {
					t.Fatalf("got another item, error %v", err)
				}
				if diff := cmp.Diff(g.facts[i], facts); diff != "" {
					t.Errorf("facts differ (-want +got):\n%s", diff)
				}
				for at := 0; at < len(form); at += 1 + len(form)/200 {
					changed := bytes.Clone(form)
					changed[at] ^= 1 << (at % 8)
					writeStored(g, changed, dictionaries)
					writeStored(g, form[:at], dictionaries)
				}
			}
		}
	}
}

// writeStored reads a stored item, and writes it if it can be read. It must not panic.
func writeStored(g *golden, form []byte, by []*wire.Dictionary) {
	it, _, err := g.reader.Stored(form, by)
	if err != nil {
		return
	}
	g.shape.AppendObject(nil, wire.Representation{Kind: wire.Whole}, &it, time.Time{})
	g.shape.AppendObject(nil, wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}, &it, time.Time{})
	g.shape.WithResourceVersion(&it, "1")
}

func FuzzStored(f *testing.F) {
	g := newGolden(f, podKind, 1)
	kept := packed(f, g.items)
	f.Add(wire.AppendStored(nil, &g.items[0], 0))
	f.Add(wire.AppendStored(nil, &kept[0], 1))
	by := []*wire.Dictionary{wire.DictionaryOf(&kept[0])}
	f.Fuzz(func(_ *testing.T, form []byte) { writeStored(g, form, by) })
}
