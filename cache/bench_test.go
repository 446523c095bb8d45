package cache

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/listfacade/listfacade/selectors"
)

// Benchmarks run on 100,000 pods in 50 namespaces on 5,000 nodes. The largest cluster that Kubernetes supports has
// 150,000 pods on 5,000 nodes.
const (
	benchPods  = 100_000
	benchNodes = 5_000
)

func benchPod(i int, rv RV) *Object {
	return pod(fmt.Sprintf("namespace-%02d/pod-%06d", i%50, i), rv, fmt.Sprintf("node-%04d", i%benchNodes), "app")
}

func benchLane(_ *testing.B) *Lane {
	objects := make([]*Object, benchPods)
	for i := range objects {
		objects[i] = benchPod(i, RV(i+1))
	}
	l := NewLane(Options{Indexes: []Index{FieldIndex(nodeField)}, HistoryBytes: 64 << 20})
	l.verifying = false
	l.Replace(benchPods, shape, objects)
	return l
}

// changes returns n updates, spread over all pods.
func changes(n int) []Change {
	all := make([]Change, n)
	for i := range all {
		all[i] = Change{Upsert, benchPod(i*7919%benchPods, RV(benchPods+1+i))}
	}
	return all
}

func BenchmarkApply(b *testing.B) {
	l, todo := benchLane(b), changes(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for _, c := range todo {
		if err := l.Apply(c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApplyWithNodeWatchers adds a watcher for every node, as 5,000 kubelets do.
func BenchmarkApplyWithNodeWatchers(b *testing.B) {
	l, todo := benchLane(b), changes(b.N)
	watchers := make([]*Watcher, benchNodes)
	for i := range watchers {
		watchers[i] = watch(b, l, selecting(b, "", "", fmt.Sprintf("spec.nodeName=node-%04d", i)), FromNow())
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i, c := range todo {
		if err := l.Apply(c); err != nil {
			b.Fatal(err)
		}
		w := watchers[i*7919%benchPods%benchNodes]
		<-w.Wait()
		if _, ok := w.Next(); !ok {
			b.Fatal("got no event for the node's watcher")
		}
	}
}

// BenchmarkApplyWithWatchersOfAll has 5,000 watchers that share one feed and wait for every event.
func BenchmarkApplyWithWatchersOfAll(b *testing.B) {
	l, todo := benchLane(b), changes(b.N)
	watchers := make([]*Watcher, 5000)
	for i := range watchers {
		watchers[i] = watch(b, l, selecting(b, "", "", ""), FromNow())
	}
	b.ResetTimer()
	for _, c := range todo {
		if err := l.Apply(c); err != nil {
			b.Fatal(err)
		}
		l.running.Wait()
		for _, w := range watchers {
			w.Wait()
		}
	}
}

func BenchmarkReplace(b *testing.B) {
	l := benchLane(b)
	s, _ := l.State()
	var objects []*Object
	for o := range s.Objects(Span{}) {
		objects = append(objects, o)
	}
	for b.Loop() {
		l.Replace(benchPods, shape, objects)
	}
}

func BenchmarkScanAll(b *testing.B) {
	s, _ := benchLane(b).State()
	b.ReportAllocs()
	for b.Loop() {
		bytes := 0
		for run := range s.Runs(Span{}) {
			for _, o := range run.Objects() {
				bytes += o.Item().Size()
			}
		}
		if bytes == 0 {
			b.Fatal("got no objects")
		}
	}
}

func BenchmarkReadOneNode(b *testing.B) {
	s, _ := benchLane(b).State()
	benchmarkSelect(b, s, selecting(b, "", "", "spec.nodeName=node-0042"), benchPods/benchNodes)
}

func BenchmarkReadOneNamespace(b *testing.B) {
	s, _ := benchLane(b).State()
	benchmarkSelect(b, s, selecting(b, "namespace-07", "", ""), benchPods/50)
}

func benchmarkSelect(b *testing.B, s *State, p *selectors.Predicate, want int) {
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range s.selected(p, "") {
			n++
		}
		if n != want {
			b.Fatalf("got %d objects, want %d", n, want)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	s, _ := benchLane(b).State()
	for b.Loop() {
		if s.Count(Span{From: "namespace-25/"}) != benchPods/2 {
			b.Fatal("got a wrong count")
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s, _ := benchLane(b).State()
	for b.Loop() {
		if _, ok := s.Get("namespace-42/pod-000042"); !ok {
			b.Fatal("got no object")
		}
	}
}

// BenchmarkApplyWithLargeFilters adds 100 watchers, each of which excludes 30,000 values and has no index.
func BenchmarkApplyWithLargeFilters(b *testing.B) {
	l, todo := benchLane(b), changes(b.N)
	values := make([]string, 30_000)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	excluded, err := labels.NewRequirement("app", selection.NotIn, values)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		absent, err := labels.NewRequirement(fmt.Sprint("absent", i), selection.DoesNotExist, nil)
		if err != nil {
			b.Fatal(err)
		}
		watch(b, l, pods.Predicate("", labels.NewSelector().Add(*excluded, *absent), nil), FromNow())
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, c := range todo {
		if err := l.Apply(c); err != nil {
			b.Fatal(err)
		}
	}
}
