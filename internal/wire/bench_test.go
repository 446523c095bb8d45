package wire

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// realPod is a recorded pod with as many bytes as a running one has: 15 KB with its managed fields and conditions.
func realPod(b *testing.B) Row {
	b.Helper()
	body, err := os.ReadFile("../../testdata/wire/pods/table_object.json")
	if err != nil {
		b.Fatal(err)
	}
	var pod Row
	if _, err := SplitList(body, func(r Row) error { pod = r; return nil }); err != nil {
		b.Fatal(err)
	}
	status, ok := Lookup(pod.Object, "status")
	if !ok {
		b.Fatal("a pod without status")
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

var podFields = []Path{
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

// BenchmarkLists writes lists of 1000 pods; MB/s are those of the pods' objects.
func BenchmarkLists(b *testing.B) {
	pod := realPod(b)
	item, _, err := NewExtractor(podFields).Scan(pod)
	if err != nil {
		b.Fatal(err)
	}
	custom := item
	custom.rest = 0 // as if its metadata had to be put in order
	shape := &Shape{ListKind: "PodList", APIVersion: "v1", RawColumns: []byte("[]")}
	for name, form := range map[string]struct {
		list func() ListWriter
		item Item
	}{
		"objects":       {func() ListWriter { return NewList(io.Discard, shape) }, item},
		"partial":       {func() ListWriter { return NewPartialList(io.Discard, &Shape{}, MetaV1) }, item},
		"partialCustom": {func() ListWriter { return NewPartialList(io.Discard, &Shape{}, MetaV1) }, custom},
		"table":         {func() ListWriter { return NewTableList(io.Discard, shape, TableOptions{Meta: MetaV1}) }, item},
		"pretty":        {func() ListWriter { return NewList(NewIndenter(io.Discard), shape) }, item},
		"gzip":          {func() ListWriter { return NewList(NewCompressor(io.Discard, "gzip", func() {}), shape) }, item},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(1000 * len(pod.Object)))
			b.ReportAllocs()
			for b.Loop() {
				list := form.list()
				if err := list.Begin(ListMeta{ResourceVersion: "1"}); err != nil {
					b.Fatal(err)
				}
				for range 1000 {
					if err := list.Item(form.item); err != nil {
						b.Fatal(err)
					}
				}
				if err := list.End(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
