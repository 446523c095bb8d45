package wire

import (
	"bytes"
	"testing"
	"time"
)

func TestInventedAnnotationsAreNotInPartials(t *testing.T) {
	shape := &Shape{Invented: InventedAnnotations("apps", "v1", "daemonsets")}
	for name, test := range map[string]struct{ metadata, want string }{
		"the only one":     {`{"name":"a","annotations":{"deprecated.daemonset.template.generation":"1"},"resourceVersion":"1"}`, `{"name":"a","resourceVersion":"1"}`},
		"one of several":   {`{"annotations":{"a":"\u003c","deprecated.daemonset.template.generation":"1","z":"é"},"resourceVersion":"1"}`, `{"annotations":{"a":"\u003c","z":"é"},"resourceVersion":"1"}`},
		"none of several":  {`{"resourceVersion":"1","annotations":{"a":"b"}}`, `{"resourceVersion":"1","annotations":{"a":"b"}}`},
		"no annotations":   {`{"resourceVersion":"1","labels":{"annotations":"b"}}`, `{"resourceVersion":"1","labels":{"annotations":"b"}}`},
		"null annotations": {`{"resourceVersion":"1","annotations":null}`, `{"resourceVersion":"1","annotations":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			item, _, err := NewExtractor(nil).Scan(Row{Object: []byte(`{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":` + test.metadata + `,"spec":{}}`)})
			if err != nil {
				t.Fatal(err)
			}
			want := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":` + test.want + `}`
			if got := string(appendPartial(nil, shape, item, MetaV1)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if whole := string(item.appendListed(nil)); whole != `{"metadata":`+test.metadata+`,"spec":{}}` {
				t.Errorf("the object itself changed: %s", whole)
			}
		})
	}
}

func TestInventedAnnotationsStayInOtherVersions(t *testing.T) {
	if got := InventedAnnotations("autoscaling", "v2", "horizontalpodautoscalers"); got != nil {
		t.Errorf("autoscaling/v2 has fields for %q", got)
	}
}

// TestEmptyTableOfUnprintedKinds: kube-apiserver makes rows anew for kinds with a printer, and leaves them nil for others.
func TestEmptyTableOfUnprintedKinds(t *testing.T) {
	for columns, rows := range map[string]string{
		`[{"name":"Name","type":"string"},{"name":"Created At","type":"date"}]`: `null`,
		`[{"name":"Name","type":"string"},{"name":"Age","type":"string"}]`:      `[]`,
	} {
		shape := &Shape{}
		if err := shape.SetColumns([]byte(columns)); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		list := NewTableList(&b, shape, TableOptions{Meta: MetaV1, Now: time.Now()})
		if err := list.Begin(ListMeta{ResourceVersion: "7"}); err != nil {
			t.Fatal(err)
		}
		if err := list.End(); err != nil {
			t.Fatal(err)
		}
		want := `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":` + columns + `,"rows":` + rows + "}\n"
		if b.String() != want {
			t.Errorf("got  %s\nwant %s", b.String(), want)
		}
	}
}
