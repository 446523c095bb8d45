package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// sizes keeps how much each write brought.
type sizes []int

func (s *sizes) Write(p []byte) (int, error) { *s = append(*s, len(p)); return len(p), nil }

func itemOf(t testing.TB, text string) Item {
	t.Helper()
	item, _, err := NewExtractor(nil).Scan(Row{Object: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"},"x":"` + text + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func TestListsAreWrittenInLargePieces(t *testing.T) {
	var writes sizes
	list := NewList(&writes, &Shape{ListKind: "PodList", APIVersion: "v1"})
	if err := list.Begin(ListMeta{ResourceVersion: "1"}); err != nil {
		t.Fatal(err)
	}
	small, large := itemOf(t, strings.Repeat("s", 1000)), itemOf(t, strings.Repeat("l", 3<<20))
	for range 1000 {
		if err := list.Item(small); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.Item(large); err != nil {
		t.Fatal(err)
	}
	if err := list.End(); err != nil {
		t.Fatal(err)
	}
	if len(writes) < 3 {
		t.Fatalf("%d writes of 4 MB", len(writes))
	}
	for _, n := range writes[:len(writes)-1] {
		if n < pieceSize {
			t.Errorf("a write of %d bytes before the end", n)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWritersPassErrorsOn(t *testing.T) {
	gone := errors.New("the client is gone")
	w := failing{gone}
	shape := &Shape{RawColumns: []byte(`[]`)}
	big := itemOf(t, strings.Repeat("x", pieceSize))
	list := NewPartialList(w, shape, MetaV1)
	table := NewTableList(w, shape, TableOptions{Meta: MetaV1, Include: IncludeObject})
	indenter := NewIndenter(w)
	compressor := NewCompressor(w, "", func() { t.Error("nothing is compressed") })
	_, indented := indenter.Write(bytes.Repeat([]byte("[1]"), pieceSize))
	_, compressed := compressor.Write([]byte("x"))
	for name, err := range map[string]error{
		"Begin": errors.Join(list.Begin(ListMeta{}), table.Begin(ListMeta{})), "Item": table.Item(big), "End": list.End(),
		"WriteObject": WriteObject(w, big), "WriteTable": WriteTable(w, shape, big, TableOptions{}),
		"WritePartial": WritePartial(w, shape, big, MetaV1), "WriteMember": WriteMember(w, []byte("x")),
		"Indenter": indented, "Compressor": compressed,
	} {
		if name == "Begin" && err == nil {
			continue // it has nothing to write yet
		}
		if !errors.Is(err, gone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestItemsAreWrittenWithoutAllocating(t *testing.T) {
	item := itemOf(t, "x")
	list := NewList(io.Discard, &Shape{ListKind: "PodList", APIVersion: "v1"})
	if err := list.Begin(ListMeta{}); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { _ = list.Item(item) }); n > 0 {
		t.Errorf("%v allocations an item", n)
	}
}

func TestListTextIsValidJSON(t *testing.T) {
	remaining := int64(3)
	for _, custom := range []bool{false, true} {
		var b bytes.Buffer
		list := NewList(&b, &Shape{ListKind: "L", APIVersion: "v1", Custom: custom})
		if err := errors.Join(list.Begin(ListMeta{ResourceVersion: "1", Continue: "t", RemainingItemCount: &remaining}), list.End()); err != nil {
			t.Fatal(err)
		}
		var got struct{ Metadata ListMeta }
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || *got.Metadata.RemainingItemCount != 3 || got.Metadata.Continue != "t" {
			t.Errorf("%s: %v", b.Bytes(), err)
		}
	}
}
