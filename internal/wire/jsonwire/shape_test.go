package jsonwire

import (
	"bytes"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
)

// kube-apiserver writes an empty list of rows for kinds with a printer, and null for the others.
func TestRowsOfEmptyTables(t *testing.T) {
	printed := `[{"name":"Name","type":"string"},{"name":"Age","type":"string"}]`
	unprinted := `[{"name":"Name","type":"string"},{"name":"Created At","type":"date"}]`
	kind := func(name string) wire.Description {
		return wire.Description{Kind: schema.GroupVersionKind{Version: "v1", Kind: name}}
	}
	custom := kind("Widget")
	custom.Custom = true
	for _, test := range []struct {
		name, columns, rows string
		of                  wire.Description
	}{
		{name: "printed", columns: printed, rows: "[]", of: kind("Pod")},
		{name: "unprinted", columns: unprinted, rows: "null", of: kind("Role")},
		{name: "definitions", columns: `[{"name":"Name","type":"string"},{"name":"Created At","type":"date"},{"name":"Established","type":"boolean"}]`,
			rows: "null", of: kind("CustomResourceDefinition")},
		{name: "custom", columns: unprinted, rows: "[]", of: custom},
	} {
		t.Run(test.name, func(t *testing.T) {
			shape, err := Encoding{}.Shape(test.of).WithColumns([]byte(test.columns))
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			list := wire.List{
				Shape: shape, Representation: wire.Representation{Kind: wire.Row, Meta: wire.MetaV1}, Meta: wire.ListMeta{ResourceVersion: "7"}, Now: time.Now(), Runs: onePage(nil),
			}
			if err := wire.NewBody(&b, wire.BodyOptions{}).WriteList(list); err != nil {
				t.Fatal(err)
			}
			want := `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":` + test.columns + `,"rows":` + test.rows + "}\n"
			if b.String() != want {
				t.Errorf("got  %s\nwant %s", b.String(), want)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	bare := Encoding{}.Shape(wire.Description{})
	if _, err := bare.WithColumns([]byte(`{}`)); err == nil {
		t.Error("got no error for columns that are not an array")
	}
	printed, err := bare.WithColumns([]byte(`[{"name":"Name"}]`))
	if err != nil {
		t.Fatal(err)
	}
	frozen, err := Encoding{}.Shape(wire.Description{Custom: true}).WithColumns([]byte(`[{"name":"Age","type":"date"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if bare.Prints() || !printed.Prints() || frozen.Prints() {
		t.Errorf("got Prints() %t without columns, %t with columns, %t with an unknown age", bare.Prints(), printed.Prints(), frozen.Prints())
	}
	for columns, want := range map[string]bool{`[{"name":"Name"}]`: false, `[{"name":"Other"}]`: true} {
		if printed.Reprinted([]byte(columns)) != want || bare.Reprinted([]byte(columns)) {
			t.Errorf("%s: got Reprinted() %t, want %t", columns, !want, want)
		}
	}
	if printed.Reprinted(nil) {
		t.Error("got Reprinted() true without columns")
	}
}

func TestTypeMetaIsAdded(t *testing.T) {
	d := wire.Description{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}}
	read := Encoding{}.Reader(d, wire.RequestFormat{Accept: mediaPlain}, nil)
	const want = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"},"b":1}`
	for _, object := range []string{
		`{"metadata":{"name":"a","resourceVersion":"7"},"b":1}`, "{ \"metadata\":{\"name\": \"a\",\"resourceVersion\":\"7\"},\n\"b\":1}",
	} {
		_, err := read.List([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[`+object+`]}`), func(it wire.Item, _ wire.Facts) error {
			open := item.Open(&it)
			defer open.Close()
			if got := string(appendWhole(nil, &it)); got != want || string(versionOf(&open)) != "7" {
				t.Errorf("%s: got %s, want %s", object, got, want)
			}
			if got := string(appendListed(nil, &it)); got != `{"metadata":{"name":"a","resourceVersion":"7"},"b":1}` {
				t.Errorf("%s: got %s as a list item", object, got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A shape with a clock shows the ages of another time than the present, in bodies, lists and frames.
func TestAgesAreRelativeToTheClock(t *testing.T) {
	d := wire.Description{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind:     schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	}
	shape, err := Encoding{}.Shape(d).WithColumns([]byte(`[{"name":"Name","type":"string"},{"name":"Age","type":"string"}]`))
	if err != nil {
		t.Fatal(err)
	}
	then := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	object := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1","creationTimestamp":"2020-01-01T00:00:00Z"}}`
	it, _, err := NewExtractor(nil).Scan(Row{Object: []byte(object), Cells: []byte(`["a","3d"]`)})
	if err != nil {
		t.Fatal(err)
	}
	shape = shape.WithClock(func() time.Time { return then.Add(7 * time.Minute) })
	row := wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeNone}
	for name, got := range map[string][]byte{
		"body":  shape.AppendObject(nil, row, &it, time.Now()),
		"list":  shape.List(row, time.Now()).AppendItem(nil, &it),
		"frame": shape.Framer(row).AppendEvent(nil, wire.TypeAdded, &it),
	} {
		if want := `["a","7m"]`; !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s: got %s, want cells %s", name, got, want)
		}
	}
}
