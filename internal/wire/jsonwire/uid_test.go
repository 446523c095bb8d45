package jsonwire

import (
	"testing"

	"github.com/listfacade/listfacade/internal/wire"
)

func TestUID(t *testing.T) {
	shape := Encoding{}.Shape(wire.Description{})
	for object, want := range map[string]string{
		`{"metadata":{"name":"a","uid":"1-2","resourceVersion":"7"},"uid":"other"}`:                           "1-2",
		`{"metadata":{"ownerReferences":[{"uid":"3"}],"annotations":{"uid":"4"},"resourceVersion":"7"}}`:      "",
		`{"metadata":{"annotations":{"a":"\"uid\":\"4\""},"resourceVersion":"7","uid":"5"}}`:                  "5",
		`{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"7","uid":null},"spec":{"uid":"other"}}`: "",
	} {
		item, facts, err := NewExtractor(nil).Scan(Row{Object: []byte(object)})
		if err != nil {
			t.Fatal(err)
		}
		if got := shape.UID(&item); got != want || facts.UID != want {
			t.Errorf("%s: got %q and fact %q, want %q", object, got, facts.UID, want)
		}
	}
}
