package cache

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// budget is the maximum memory of an object of a pod's size in bytes, without its Item. The hash of its UID takes 15.
const budget = 168

// TestSizeMatchesMemory compares the memory of a lane of pods without content with the sum of their Size.
func TestSizeMatchesMemory(t *testing.T) {
	for _, n := range []int{20_000, 100_000}[:settings.Amount(1, 2)] {
		before := heap()
		l := NewLane(Options{Indexes: []Index{FieldIndex(nodeField)}})
		l.verifying = false
		l.Replace(1, shape, bench(n))
		measured := float64(heap()-before) / float64(n)
		received := float64(l.Stats().ObjectBytes) / float64(n)
		t.Logf("%d pods take %.1f bytes each and say %.1f", n, measured, received)
		if measured > received || measured < received*3/4 {
			t.Errorf("%d pods take %.1f bytes each and say %.1f", n, measured, received)
		}
		if extra := measured - float64(unsafe.Sizeof(wire.Item{})); extra > budget {
			t.Errorf("%d pods: got %.1f bytes each without their items, want %d", n, extra, budget)
		}
		runtime.KeepAlive(l)
	}
}

// TestIndexSizeMatchesMemory compares the memory of an index with the size that it reports.
func TestIndexSizeMatchesMemory(t *testing.T) {
	objects := numbered(200_000)
	before := heap()
	i := newIndex(FieldIndex(nodeField), objects)
	measured := int64(heap() - before)
	if got := i.bytes(); got < measured*99/100 || got > measured*101/100 {
		t.Errorf("got %d bytes, want %d within 1%%", got, measured)
	}
	runtime.KeepAlive(objects)
	runtime.KeepAlive(i)
}

// heap returns the bytes in use, after garbage and weakly referenced memory was collected.
func heap() uint64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// bench returns pods with attributes as long and as repetitive as those of bench/internal/dataset. There are 300
// applications with seven labels each, 40 pods a node, and a unique label on one pod in 200.
func bench(n int) []*Object {
	r := rand.New(rand.NewPCG(1, 0))
	objects := make([]*Object, n)
	for i := range objects {
		a, node, number := r.IntN(300), r.IntN(n/40), r.IntN(1<<24)
		app := fmt.Sprintf("inventory-worker-%d", a)
		hash := fmt.Sprintf("%010x", a*7919)
		labels := []selectors.Label{
			{Key: "app.kubernetes.io/component", Value: "worker"},
			{Key: "app.kubernetes.io/instance", Value: app + "-production"},
			{Key: "app.kubernetes.io/managed-by", Value: "Helm"},
			{Key: "app.kubernetes.io/name", Value: app},
			{Key: "app.kubernetes.io/part-of", Value: "inventory"},
			{Key: "app.kubernetes.io/version", Value: fmt.Sprintf("%d.%d.%d", a%9, a%30, a%99)},
			{Key: "pod-template-hash", Value: hash},
		}
		if i%200 == 0 {
			labels = append(labels, selectors.Label{Key: "rollout.example.com/track", Value: "canary"})
		}
		values := map[string]string{
			"spec.nodeName":      fmt.Sprintf("node-%c-%03d.eu-west-1.compute.internal", 'a'+rune(node%3), node),
			"spec.restartPolicy": "Always", "spec.schedulerName": "default-scheduler", "spec.serviceAccountName": app,
			"spec.hostNetwork": "false", "status.phase": "Running",
			"status.podIP": fmt.Sprintf("10.%d.%d.%d", 64+number>>16&63, number>>8&255, 1+number&253),
		}
		var fields []string
		for _, field := range pods.Fields() {
			fields = append(fields, values[field.Label])
		}
		name := fmt.Sprintf("%s-%s-%05x", app, hash, i)
		objects[i] = NewObject(pods.Attributes(identity(fmt.Sprintf("team-%02d", a%50), name), labels, fields), 1, wire.Item{})
	}
	return objects
}
