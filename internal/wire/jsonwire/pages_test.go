package jsonwire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// pagesOf returns a page reader like that of a lane.
func (g *golden) pagesOf() wire.PageReader {
	return Encoding{}.Pages(g.shape.description, Encoding{}.RequestFormats()[0], nil).Reader
}

// Plain lists joined with Tables without objects give the same items as Tables with complete objects.
func TestPagesGiveTheSameItems(t *testing.T) {
	goldens(t, func(g *golden) {
		read := g.pagesOf()
		rows, err := read.Rows(g.file("table_none.json"))
		if err != nil || len(rows.Columns) == 0 || read.Rest() != len(g.items) {
			t.Fatalf("got %+v, %d rows, %v", rows, read.Rest(), err)
		}
		i := 0
		list, err := read.Objects(g.file("list.json"), func(it wire.Item, _ wire.Facts) error {
			want, got := item.Open(&g.items[i]), item.Open(&it)
			defer want.Close()
			defer got.Close()
			if diff := cmp.Diff(string(want.Data()), string(got.Data())); diff != "" || *want.Marks() != *got.Marks() {
				t.Errorf("item %d: marks %+v, want %+v (-from table +from pages):\n%s", i, *got.Marks(), *want.Marks(), diff)
			}
			i++
			return nil
		})
		if err != nil || i != len(g.items) || read.Rest() != 0 {
			t.Errorf("got %d of %d items, %d rows without objects, %v", i, len(g.items), read.Rest(), err)
		}
		for _, file := range []string{"list.json", "list_limit.json", "table_none.json", "list_empty.json", "table_empty.json"} {
			body := g.file(file)
			want, err := SplitList(body, func(Row) error { return nil })
			if strings.Contains(file, "none") {
				want, err = splitRows(body, func(Row) error { return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
			head, err := read.Head(body)
			want.Columns = nil
			if diff := cmp.Diff(want.head(), head); diff != "" || err != nil {
				t.Errorf("head of %s: %v (-Objects +Head):\n%s", file, err, diff)
			}
		}
		if list.Remaining != 0 {
			t.Errorf("got %d remaining items of a complete list, want 0", list.Remaining)
		}
	})
}

func TestUnalignedPagesAreRejected(t *testing.T) {
	const columns = `[{"name":"Kind","format":""},{"name":"Name","format":"name"}]`
	rows := func(columns string, names ...string) string {
		cells := make([]string, len(names))
		for i, name := range names {
			cells[i] = fmt.Sprintf(`{"cells":["a",%s],"object":null}`, name)
		}
		return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":` + columns + `,"rows":[` + strings.Join(cells, ",") + `]}`
	}
	const objects = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[` +
		`{"metadata":{"name":"a","resourceVersion":"1"}},{"metadata":{"name":"b","resourceVersion":"1"}}]}`
	for name, c := range map[string]struct {
		rows    string
		aligned bool
	}{
		"in order":            {rows(columns, `"a"`, `"b"`), true},
		"in another order":    {rows(columns, `"b"`, `"a"`), false},
		"too few":             {rows(columns, `"a"`), false},
		"without a name":      {rows(columns, `"a"`, `null`), false},
		"without that cell":   {strings.Replace(rows(columns, `"a"`, `"b"`), `["a","b"]`, `["b"]`, 1), false},
		"no column of names":  {rows(`[{"name":"Name","format":""}]`, `"a"`, `"b"`), false},
		"a name as a number":  {rows(columns, `"a"`, `2`), false},
		"no rows, as null":    {strings.Replace(rows(columns), `[]}`, `null}`, 1), false},
		"a name in the first": {strings.Replace(rows(columns, `"x"`, `"b"`), `"a","x"`, `"x","a"`, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			read := Encoding{}.Pages(wire.Description{}, Encoding{}.RequestFormats()[0], nil).Reader
			_, err := read.Rows([]byte(c.rows))
			if err == nil {
				_, err = read.Objects([]byte(objects), func(wire.Item, wire.Facts) error { return nil })
			}
			if c.aligned && err != nil || !c.aligned && !errors.Is(err, wire.ErrUnaligned) {
				t.Errorf("%s: got %v", c.rows, err)
			}
		})
	}
	read := Encoding{}.Pages(wire.Description{}, Encoding{}.RequestFormats()[0], nil).Reader
	whole := `{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":` + columns + `,"rows":[{"cells":["a","b"],"object":{}}]}`
	if _, err := read.Rows([]byte(whole)); err == nil {
		t.Error("got no error for rows with objects")
	}
	if _, err := read.Rows([]byte(rows(columns))); err != nil {
		t.Error(err)
	}
	if _, err := read.Rows([]byte(rows(`[{"name":"Name","format":"name"}]`))); err == nil {
		t.Error("got no error for other columns on a later page")
	}
}
