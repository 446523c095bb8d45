package jsonwire

import (
	"bytes"
	"fmt"
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

// TestPackedItemsAnswerTheSame compares everything that is written from plain items and from packed items.
func TestPackedItemsAnswerTheSame(t *testing.T) {
	goldens(t, func(g *golden) {
		kept, now := packed(t, g.items), time.Now()
		for _, representation := range everyForm() {
			t.Run(fmt.Sprintf("%+v", representation), func(t *testing.T) {
				if representation.Kind != wire.Whole {
					if want, got := g.list(representation, g.meta, g.items), g.list(representation, g.meta, kept); !bytes.Equal(want, got) {
						t.Errorf("got list\n%s\nwant\n%s", got, want)
					}
				}
				if representation.Kind == wire.Listed {
					return
				}
				for i := range g.items {
					want, got := g.shape.AppendObject(nil, representation, &g.items[i], now), g.shape.AppendObject(nil, representation, &kept[i], now)
					if !bytes.Equal(want, got) {
						t.Errorf("got object\n%s\nwant\n%s", got, want)
					}
					one, other := g.shape.Framer(representation), g.shape.Framer(representation)
					moved, movedKept := g.shape.WithResourceVersion(&g.items[i], "12345678901"), g.shape.WithResourceVersion(&kept[i], "12345678901")
					want = one.AppendEvent(one.AppendEvent(nil, wire.TypeAdded, &g.items[i]), wire.TypeDeleted, &moved)
					got = other.AppendEvent(other.AppendEvent(nil, wire.TypeAdded, &kept[i]), wire.TypeDeleted, &movedKept)
					if !bytes.Equal(want, got) {
						t.Errorf("got events\n%s\nwant\n%s", got, want)
					}
				}
			})
		}
	})
}

// everyForm returns all representations of JSON.
func everyForm() []wire.Representation {
	forms := []wire.Representation{{Kind: wire.Whole}, {Kind: wire.Listed}}
	for _, meta := range []wire.MetaVersion{wire.MetaV1, wire.MetaV1Beta1} {
		forms = append(forms, wire.Representation{Kind: wire.Partial, Meta: meta})
		for _, include := range []wire.Include{wire.IncludeMetadata, wire.IncludeObject, wire.IncludeNone} {
			forms = append(forms, wire.Representation{Kind: wire.Row, Meta: meta, Include: include})
		}
	}
	return forms
}
