package protowire

import (
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// opened returns an opened item that is never closed.
func opened(it *wire.Item) *item.Opened {
	open := item.Open(it)
	return &open
}

// TestPackedItemsAnswerTheSame compares everything that is written from plain items and from packed items.
func TestPackedItemsAnswerTheSame(t *testing.T) {
	for _, kind := range builtins()[:20] {
		g := newGolden(t, kind, 3)
		kept := packed(t, g.items)
		head := wire.ListMeta{ResourceVersion: "4711"}
		for _, meta := range []wire.MetaVersion{wire.MetaV1, wire.MetaV1Beta1} {
			representation := wire.Representation{Kind: wire.Partial, Meta: meta}
			same(t, "metadata", written(t, g.shape, representation, head, g.items), written(t, g.shape, representation, head, kept))
		}
		listed := wire.Representation{Kind: wire.Listed}
		same(t, "list", written(t, g.shape, listed, head, g.items), written(t, g.shape, listed, head, kept))
		for _, representation := range []wire.Representation{{Kind: wire.Whole}, {Kind: wire.Partial, Meta: wire.MetaV1}} {
			framer := g.shape.Framer(representation)
			for i := range g.items {
				one, other := &g.items[i], &kept[i]
				same(t, "object", g.shape.AppendObject(nil, representation, one, time.Time{}), g.shape.AppendObject(nil, representation, other, time.Time{}))
				moved, movedKept := g.shape.WithResourceVersion(one, "12345678901"), g.shape.WithResourceVersion(other, "12345678901")
				same(t, "events", framer.AppendEvent(framer.AppendEvent(nil, wire.TypeAdded, one), wire.TypeDeleted, &moved),
					framer.AppendEvent(framer.AppendEvent(nil, wire.TypeAdded, other), wire.TypeDeleted, &movedKept))
			}
		}
	}
}

// packed returns the items in packed form.
func packed(t testing.TB, items []wire.Item) []wire.Item {
	t.Helper()
	var samples []*wire.Item
	for range 50 {
		for i := range items {
			samples = append(samples, &items[i])
		}
	}
	d, err := wire.NewDictionary(samples)
	if err != nil {
		t.Fatal(err)
	}
	p, kept := d.Packer(), make([]wire.Item, len(items))
	for i := range items {
		if kept[i] = p.Pack(&items[i]); !kept[i].Packed() {
			t.Fatalf("an item of %d bytes was not packed with a dictionary made from itself", items[i].Size())
		}
	}
	return kept
}
