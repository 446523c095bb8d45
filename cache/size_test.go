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

// budget is what an object of the size of a pod may cost in bytes of memory, beside its Item.
const budget = 160

// TestObjectsAreAsLargeAsTheySay compares what a lane of pods without content takes with what their Size adds up to.
func TestObjectsAreAsLargeAsTheySay(t *testing.T) {
	for _, n := range []int{20_000, 100_000}[:settings.Amount(1, 2)] {
		before := heap()
		l := NewLane(Options{Indexes: []Index{FieldIndex(nodeField)}})
		l.verifying = false
		l.Replace(1, shape, bench(n))
		measured := float64(heap()-before) / float64(n)
		said := float64(l.Stats().ObjectBytes) / float64(n)
		t.Logf("%d pods take %.1f bytes each and say %.1f", n, measured, said)
		if measured > said || measured < said*3/4 {
			t.Errorf("%d pods take %.1f bytes each and say %.1f", n, measured, said)
		}
		if beside := measured - float64(unsafe.Sizeof(wire.Item{})); beside > budget {
			t.Errorf("%d pods take %.1f bytes each beside their items, want %d", n, beside, budget)
		}
		runtime.KeepAlive(l)
	}
}

// heap is what is in use, garbage and what it held weakly excluded.
func heap() uint64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// bench returns pods whose attributes are as long, and as often the same, as those of bench/internal/dataset: 300
// applications of seven labels each, on nodes of 40 pods, one in 200 with a label of its own.
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
		objects[i] = NewObject(pods.Attributes(fmt.Sprintf("team-%02d", a%50), name, labels, fields), 1, wire.Item{})
	}
	return objects
}
