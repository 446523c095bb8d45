package protowire

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listfacade/listfacade/internal/wire"
)

// realPod is a recorded pod with the size of a running one: 15 KB in JSON with managed fields and conditions, as in
// jsonwire's benchmarks.
func realPod(b *testing.B) *corev1.Pod {
	b.Helper()
	body, err := os.ReadFile("../../../testdata/wire/pods/object.json")
	if err != nil {
		b.Fatal(err)
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	pod := object.(*corev1.Pod)
	for i := range 70 {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(fmt.Sprintf("Ready%d", i)), Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(int64(1e9+i), 0),
			Reason: "ContainersReady", Message: fmt.Sprintf("containers are \"ready\", all %d of them, as they were before", i),
		})
	}
	return pod
}

func realMessage(b *testing.B) []byte {
	b.Helper()
	data, err := realPod(b).Marshal()
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func BenchmarkScan(b *testing.B) {
	data, e := realMessage(b), newExtractor(podKind, wirePaths(podKind))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := e.scan(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	line := frame(b, wire.TypeModified, encode(b, realPod(b), podKind))[4:]
	reader := podReader()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reader.Frame(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadList(b *testing.B) {
	pod := realPod(b)
	g := &golden{kind: podKind}
	body := encode(b, g.listOf(b, slices.Repeat([]runtime.Object{pod}, 500), metav1.ListMeta{ResourceVersion: "1"}), listOf(podKind))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := podReader().List(body, nothing); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLists writes lists of 1000 pods. MB/s refer to the size of the objects.
func BenchmarkLists(b *testing.B) {
	data := realMessage(b)
	it, _, err := newExtractor(podKind, wirePaths(podKind)).scan(data)
	if err != nil {
		b.Fatal(err)
	}
	shape := Encoding{}.Shape(describe(podKind))
	listed, partial := wire.Representation{Kind: wire.Listed}, wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}
	for name, c := range map[string]struct {
		options wire.BodyOptions
		form    wire.Representation
	}{
		"objects": {form: listed}, "partial": {form: partial},
		"gzip": {options: wire.BodyOptions{AcceptEncoding: "gzip", Announce: func() {}}, form: listed},
	} {
		b.Run(name, func(b *testing.B) {
			items := slices.Repeat([]wire.Item{it}, 1000)
			b.SetBytes(int64(1000 * len(data)))
			b.ReportAllocs()
			for b.Loop() {
				list := wire.List{Shape: shape, Representation: c.form, Meta: wire.ListMeta{ResourceVersion: "1"}, Runs: pages(items)}
				if err := wire.NewBody(io.Discard, c.options).WriteList(list); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncoders encodes the same pod with kube-apiserver's encoders, for the costs in internal/fresh.
func BenchmarkEncoders(b *testing.B) {
	pod := realPod(b)
	inJSON, err := runtime.Encode(scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), pod)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("json", func(b *testing.B) {
		b.SetBytes(int64(len(inJSON)))
		for b.Loop() {
			if _, err := runtime.Encode(scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion), pod); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protobuf", func(b *testing.B) {
		b.SetBytes(int64(pod.Size()))
		for b.Loop() {
			encode(b, pod, podKind)
		}
	})
}
