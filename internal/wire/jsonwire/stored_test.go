package jsonwire

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// stored returns items in stored form, and the dictionary read back from its stored form.
func stored(t testing.TB, items []wire.Item, number int) (forms [][]byte, by *wire.Dictionary) {
	t.Helper()
	for i := range items {
		forms = append(forms, wire.AppendStored(nil, &items[i], number))
	}
	if number == 0 {
		return forms, nil
	}
	by, err := wire.ReadDictionary(wire.DictionaryOf(&items[0]).AppendStored(nil))
	if err != nil {
		t.Fatal(err)
	}
	return forms, by
}

// TestStoredItemsAreTheSame reads plain and packed items back, with the same marks and facts.
func TestStoredItemsAreTheSame(t *testing.T) {
	goldens(t, func(g *golden) {
		r, kept := &reader{extractor: NewExtractor(nil)}, packed(t, g.items)
		plain, _ := stored(t, g.items, 0)
		short, by := stored(t, kept, 2)
		for i := range g.items {
			row := cut(opened(&g.items[i]))
			_, want, err := r.extractor.Scan(Row{Object: row.object, Cells: row.cells, Conditions: row.conditions})
			if err != nil {
				t.Fatal(err)
			}
			for _, form := range [][]byte{plain[i], short[i]} {
				got, facts, err := r.Stored(form, []*wire.Dictionary{nil, by})
				if err != nil || !got.Equal(&g.items[i]) {
					t.Fatalf("got another item, error %v", err)
				}
				if diff := cmp.Diff(want, facts); diff != "" {
					t.Errorf("facts differ (-want +got):\n%s", diff)
				}
			}
			if got, _, _ := r.Stored(short[i], []*wire.Dictionary{nil, by}); !got.Packed() || !by.Packer().Of(wire.DictionaryOf(&got)) {
				t.Error("a packed item was not read as packed with the dictionary")
			}
		}
	})
}

// TestDamagedStoredItemsAreErrors cuts and changes stored items at each byte. Each is an error, or an object that can
// be written.
func TestDamagedStoredItemsAreErrors(t *testing.T) {
	goldens(t, func(g *golden) {
		kept := packed(t, g.items[:1])
		plain, _ := stored(t, g.items[:1], 0)
		short, by := stored(t, kept, 1)
		for _, form := range [][]byte{plain[0], short[0]} {
			for at := range form {
				writeStored(t, g.shape, form[:at], by)
				changed := bytes.Clone(form)
				changed[at] ^= 1 << (at % 8)
				writeStored(t, g.shape, changed, by)
			}
		}
	})
}

// writeStored reads a stored item, and writes it in all representations if it can be read. It must not panic.
func writeStored(t testing.TB, shape wire.Shape, form []byte, by *wire.Dictionary) {
	t.Helper()
	it, _, err := (&reader{extractor: NewExtractor(nil)}).Stored(form, []*wire.Dictionary{by})
	if err != nil {
		return
	}
	for _, representation := range everyForm() {
		if representation.Kind != wire.Listed {
			shape.AppendObject(nil, representation, &it, time.Time{})
		}
	}
	shape.WithResourceVersion(&it, "1")
	if marks := item.MarksOf(&it); int(marks.Cells) > it.Size() || marks.Version.End > marks.Metadata.End || marks.Metadata.End > marks.Object {
		t.Fatalf("got marks %+v of %d bytes", *marks, it.Size())
	}
}

func FuzzStored(f *testing.F) {
	it, _, err := NewExtractor(nil).Scan(Row{Object: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"}}`),
		Cells: []byte(`["a","5d"]`)})
	if err != nil {
		f.Fatal(err)
	}
	kept := packed(f, []wire.Item{it})
	short, by := stored(f, kept, 1)
	f.Add(wire.AppendStored(nil, &it, 0))
	f.Add(short[0])
	shape := Encoding{}.Shape(wire.Description{})
	f.Fuzz(func(t *testing.T, form []byte) { writeStored(t, shape, form, by) })
}
