package jsonwire

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
	"github.com/listfacade/listfacade/internal/wire/scan"
)

// realPod is a recorded pod with the size of a running one: 15 KB with managed fields and conditions.
func realPod(b *testing.B) Row {
	b.Helper()
	body, err := os.ReadFile("../../../testdata/wire/pods/table_object.json")
	if err != nil {
		b.Fatal(err)
	}
	var pod Row
	if _, err := SplitList(body, func(r Row) error { pod = r; return nil }); err != nil {
		b.Fatal(err)
	}
	status, ok := scan.Lookup(pod.Object, "status")
	if !ok {
		b.Fatal("pod has no status")
	}
	var more strings.Builder
	for i := range 70 {
		fmt.Fprintf(&more, `{"lastProbeTime":null,"lastTransitionTime":"2026-11-21T10:03:%02dZ","message":"containers are \"ready\", all %d of them, `+
			`as they were before","reason":"ContainersReady","status":"True","type":"Ready%d"},`, i%60, i, i)
	}
	full := bytes.Replace(status, []byte("{"), []byte(`{"conditions":[`+strings.TrimSuffix(more.String(), ",")+`],`), 1)
	pod.Object = bytes.Replace(pod.Object, status, full, 1)
	return pod
}

var podFields = []wire.Path{
	{Alternatives: []string{"spec.nodeName"}}, {Alternatives: []string{"spec.restartPolicy"}},
	{Alternatives: []string{"spec.schedulerName"}}, {Alternatives: []string{"spec.serviceAccountName"}},
	{Alternatives: []string{"spec.hostNetwork"}, Default: "false"}, {Alternatives: []string{"status.phase"}},
	{Alternatives: []string{"status.podIP", "status.podIPs.0.ip"}}, {Alternatives: []string{"status.nominatedNodeName"}},
}

func BenchmarkScan(b *testing.B) {
	pod := realPod(b)
	e := NewExtractor(podFields)
	b.SetBytes(int64(len(pod.Object)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := e.Scan(pod); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseFrame(b *testing.B) {
	pod := realPod(b)
	line := fmt.Appendf(nil, `{"type":"MODIFIED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},`+
		`"columnDefinitions":null,"rows":[{"cells":%s,"object":%s}]}}`, pod.Cells, pod.Object)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseFrame(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSplitList(b *testing.B) {
	pod := realPod(b)
	one := fmt.Sprintf(`{"cells":%s,"object":%s}`, pod.Cells, pod.Object)
	body := []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"columnDefinitions":[],"rows":[` +
		strings.Repeat(one+",", 499) + one + `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SplitList(body, func(Row) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLists writes lists of 1000 pods. MB/s refer to the size of the objects.
func BenchmarkLists(b *testing.B) {
	pod := realPod(b)
	it, _, err := NewExtractor(podFields).Scan(pod)
	if err != nil {
		b.Fatal(err)
	}
	marks := *item.MarksOf(&it)
	marks.Rest = 0
	custom := item.New(item.Append(nil, &it), marks) // without leading type meta, its metadata is sorted again
	shape := &Shape{listKind: "PodList", apiVersion: "v1", rawColumns: []byte("[]")}
	listed, partial := wire.Representation{Kind: wire.Listed}, wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}
	pretty := wire.BodyOptions{Filter: func(w io.Writer) io.WriteCloser { return wire.NewIndenter(w) }}
	for name, c := range map[string]struct {
		options wire.BodyOptions
		form    wire.Representation
		item    wire.Item
	}{
		"objects":       {form: listed, item: it},
		"partial":       {form: partial, item: it},
		"partialCustom": {form: partial, item: custom},
		"table":         {form: wire.Representation{Kind: wire.Row, Meta: wire.MetaV1}, item: it},
		"pretty":        {options: pretty, form: listed, item: it},
		"gzip":          {options: wire.BodyOptions{AcceptEncoding: "gzip", Announce: func() {}}, form: listed, item: it},
	} {
		b.Run(name, func(b *testing.B) {
			runs := onePage(slices.Repeat([]wire.Item{c.item}, 1000))
			b.SetBytes(int64(1000 * len(pod.Object)))
			b.ReportAllocs()
			for b.Loop() {
				list := wire.List{Shape: shape, Representation: c.form, Meta: wire.ListMeta{ResourceVersion: "1"}, Runs: runs}
				if err := wire.NewBody(io.Discard, c.options).WriteList(list); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
