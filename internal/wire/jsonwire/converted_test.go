package jsonwire

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

func TestConversionAnnotationsAreNotInPartials(t *testing.T) {
	shape := newShape(wire.Description{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}})
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
			if got := string(shape.appendPartial(nil, opened(&item), wire.MetaV1)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if whole := string(appendListed(nil, &item)); whole != `{"metadata":`+test.metadata+`,"spec":{}}` {
				t.Errorf("object was modified: %s", whole)
			}
		})
	}
}

func TestConversionAnnotationsStayInOtherVersions(t *testing.T) {
	v2 := schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	if got := newShape(wire.Description{Resource: v2}).converted; got != nil {
		t.Errorf("got %q for autoscaling/v2, want none", got)
	}
}
