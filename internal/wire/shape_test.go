package wire

import (
	"bytes"
	"testing"
	"time"
)

// TestEmptyTables: kube-apiserver makes an empty list of rows for kinds with a printer, and none at all for the others.
func TestEmptyTables(t *testing.T) {
	printed := `[{"name":"Name","type":"string"},{"name":"Age","type":"string"}]`
	unprinted := `[{"name":"Name","type":"string"},{"name":"Created At","type":"date"}]`
	for _, test := range []struct {
		name, columns, rows string
		shape               Shape
	}{
		{name: "printed", columns: printed, rows: "[]", shape: Shape{Kind: "Pod"}},
		{name: "unprinted", columns: unprinted, rows: "null", shape: Shape{Kind: "Role"}},
		{name: "definitions", columns: `[{"name":"Name","type":"string"},{"name":"Created At","type":"date"},{"name":"Established","type":"boolean"}]`,
			rows: "null", shape: Shape{Kind: "CustomResourceDefinition"}},
		{name: "custom", columns: unprinted, rows: "[]", shape: Shape{Kind: "Widget", Custom: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := test.shape.SetColumns([]byte(test.columns)); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			list := NewTableList(&b, &test.shape, TableOptions{Meta: MetaV1, Now: time.Now()})
			if err := list.Begin(ListMeta{ResourceVersion: "7"}); err != nil {
				t.Fatal(err)
			}
			if err := list.End(); err != nil {
				t.Fatal(err)
			}
			want := `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":` + test.columns + `,"rows":` + test.rows + "}\n"
			if b.String() != want {
				t.Errorf("got  %s\nwant %s", b.String(), want)
			}
		})
	}
}
