package jsonwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/scan"
)

var podPaths = []wire.Path{
	{Alternatives: []string{"spec.nodeName"}},
	{Alternatives: []string{"status.podIPs.0.ip", "status.podIP"}},
	{Alternatives: []string{"spec.hostNetwork"}, Default: "false"},
	{Alternatives: []string{"spec.replicas"}, Default: "0"},
	{Alternatives: []string{"metadata.annotations.x"}},
	{},
}

const builtinPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ns","resourceVersion":"12",` +
	`"labels":{"a":"1","b\"c":"\u003c2\u003e"},"annotations":{"x":"{\"}"}},"spec":{"nodeName":"n1","hostNetwork":true,"replicas":3},` +
	`"status":{"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"},{"ip":"::1"}]}}`

func TestScanReadsFacts(t *testing.T) {
	const customPod = `{"apiVersion":"ex.io/v1","kind":"W","metadata":{"annotations":{"x":null},"labels":{},"name":"w",` +
		`"resourceVersion":"3"},"spec":{"hostNetwork":{"a":1},"nodeName":"","replicas":null},"status":{"podIP":"10.0.0.2","podIPs":[]}}`
	for _, test := range []struct {
		object string
		want   wire.Facts
	}{
		{builtinPod, wire.Facts{
			Namespace: "ns", Name: "p", ResourceVersion: "12", Labels: []wire.Pair{{Key: "a", Value: "1"}, {Key: `b"c`, Value: "<2>"}},
			Fields: []string{"n1", "10.0.0.1", "true", "3", `{"}`, ""},
		}},
		{customPod, wire.Facts{Name: "w", ResourceVersion: "3", Labels: []wire.Pair{}, Fields: []string{"", "10.0.0.2", "false", "0", "", ""}}},
		{`{"metadata":{"resourceVersion":"1"}}`, wire.Facts{ResourceVersion: "1", Fields: []string{"", "", "false", "0", "", ""}}},
		{`{"metadata":{"resourceVersion":"1","labels":{"z":"1","a":"2"}}}`, wire.Facts{
			ResourceVersion: "1", Labels: []wire.Pair{{Key: "a", Value: "2"}, {Key: "z", Value: "1"}}, Fields: []string{"", "", "false", "0", "", ""},
		}},
	} {
		item, facts, err := NewExtractor(podPaths).Scan(Row{Object: []byte(test.object)})
		if err != nil {
			t.Errorf("%s: %v", test.object, err)
			continue
		}
		if diff := cmp.Diff(test.want, facts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.object, diff)
		}
		if string(appendWhole(nil, &item)) != test.object || cut(opened(&item)).cells != nil {
			t.Errorf("got %s with cells %s, want %s without cells", appendWhole(nil, &item), cut(opened(&item)).cells, test.object)
		}
	}
}

func TestScanRejectsMalformedObjects(t *testing.T) {
	for _, object := range []string{
		``, `null`, `[]`, `{}`, `{"metadata":{}}`, `{"metadata":{"resourceVersion":1}}`, `{"metadata":"resourceVersion"}`,
		`{"metadata":{"resourceVersion":"1"}`, `{"metadata":{"resourceVersion":"1"}}}`, `{"metadata":{"resourceVersion":"1"},"x":[1,]}`,
		`{"metadata":{"resourceVersion":"1"},"metadata":{}}`, `{"metadata":{"resourceVersion":"1"},"metadata":7}`,
		`{"metadata":{"resourceVersion":"1","labels":{"a":1}}}`, `{"metadata":{"resourceVersion":"1"},"spec":{"nodeName" 1}}`,
	} {
		var malformed *scan.MalformedError
		if _, _, err := NewExtractor(podPaths).Scan(Row{Object: []byte(object)}); !errors.As(err, &malformed) {
			t.Errorf("%s: got %v", object, err)
		}
	}
	for _, array := range []string{`{}`, `null`, ` `, `[`, `[1`, `[]]`, `[] 1`, `[],"x":1`, `[ ,]`} {
		for _, row := range []Row{{Cells: []byte(array)}, {Cells: []byte(`[]`), Conditions: []byte(array)}} {
			row.Object = []byte(builtinPod)
			var malformed *scan.MalformedError
			if _, _, err := NewExtractor(nil).Scan(row); !errors.As(err, &malformed) {
				t.Errorf("cells %s, conditions %s: got %v", row.Cells, row.Conditions, err)
			}
		}
	}
}

func TestScanRemovesWhiteSpace(t *testing.T) {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(builtinPod), "", "  "); err != nil {
		t.Fatal(err)
	}
	dense, _, err := NewExtractor(podPaths).Scan(Row{
		Object: []byte(builtinPod), Cells: []byte(`["a b",1]`), Conditions: []byte(`[{"type":"x y"}]`),
	})
	if err != nil {
		t.Fatal(err)
	}
	spaced, _, err := NewExtractor(podPaths).Scan(Row{
		Object: pretty.Bytes(), Cells: []byte("[ \"a b\",\n1 ]"), Conditions: []byte(" [{\"type\": \"x y\"} ] "),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dense, spaced, cmp.AllowUnexported(wire.Item{})); diff != "" {
		t.Errorf("(-dense +spaced):\n%s", diff)
	}
	if p := cut(opened(&dense)); string(p.object) != builtinPod || string(p.cells) != `["a b",1]` || string(p.conditions) != `[{"type":"x y"}]` {
		t.Errorf("got %s, %s, %s", p.object, p.cells, p.conditions)
	}
}

func TestScanCopies(t *testing.T) {
	row := Row{Object: []byte(builtinPod), Cells: []byte(`["p"]`), Conditions: []byte(`[{}]`)}
	item, facts, err := NewExtractor(podPaths).Scan(row)
	if err != nil {
		t.Fatal(err)
	}
	clear(row.Object)
	clear(row.Cells)
	clear(row.Conditions)
	if p := cut(opened(&item)); string(p.object) != builtinPod || string(p.cells) != `["p"]` || string(p.conditions) != `[{}]` {
		t.Errorf("item aliases its source: %s, %s, %s", p.object, p.cells, p.conditions)
	}
	if facts.Name != "p" || facts.Labels[0].Key != "a" {
		t.Errorf("facts alias their source: %+v", facts)
	}
	if item.Size() != len(row.Object)+len(row.Cells)+len(row.Conditions) {
		t.Errorf("got Size() = %d, want %d", item.Size(), len(row.Object)+len(row.Cells)+len(row.Conditions))
	}
}

func TestWithResourceVersion(t *testing.T) {
	for _, object := range []string{
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","resourceVersion":"12","labels":{"a":"b"}},"spec":{}}`,
		`{"apiVersion":"v1","kind":"W","metadata":{"name":"p","resourceVersion":"12","uid":"u"},"spec":{}}`,
		`{"metadata":{"resourceVersion":"12"},"kind":"Pod"}`,
	} {
		item, _, err := NewExtractor(nil).Scan(Row{Object: []byte(object), Cells: []byte(`[1]`)})
		if err != nil {
			t.Fatal(err)
		}
		for _, rv := range []string{"1", "99", "123456789"} {
			moved := strings.Replace(object, `"12"`, `"`+rv+`"`, 1)
			want, _, err := NewExtractor(nil).Scan(Row{Object: []byte(moved), Cells: []byte(`[1]`)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, withVersion(&item, rv), cmp.AllowUnexported(wire.Item{})); diff != "" {
				t.Errorf("%s (-scanned again +changed):\n%s", moved, diff)
			}
		}
		if string(appendWhole(nil, &item)) != object {
			t.Errorf("item was modified: %s", appendWhole(nil, &item))
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(builtinPod), []byte(`["a"]`), []byte(`[{"type":"Completed"}]`))
	f.Add([]byte(` {"metadata":{"resourceVersion":"1","ownerReferences":[1,{"kind":null}],"managedFields":[[]]}} `), []byte("[ ]"), []byte(" []"))
	f.Add([]byte(`{"metadata":{"resourceVersion":"1"},"metadata":{"labels":{}}}`), []byte(nil), []byte(nil))
	e := NewExtractor(podPaths)
	f.Fuzz(func(t *testing.T, object, cells, conditions []byte) {
		item, _, err := e.Scan(Row{Object: object, Cells: cells, Conditions: conditions})
		if err != nil {
			var malformed *scan.MalformedError
			if !errors.As(err, &malformed) {
				t.Errorf("untyped error %v", err)
			}
			return
		}
		if !json.Valid(object) {
			t.Errorf("accepted invalid JSON: %s", object)
		}
		shape := &Shape{}
		var b []byte
		for _, include := range includes {
			f := wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: include}
			moved := shape.WithResourceVersion(&item, "7")
			b = shape.AppendObject(b, f, &moved, time.Now())
		}
		b = append(appendListed(b, &item), '\n')
		for line := range bytes.Lines(b) {
			if !json.Valid(line) {
				t.Errorf("got invalid JSON %s", line)
			}
		}
	})
}
