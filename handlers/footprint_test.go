package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	// heldWatches is the number of open watches.
	heldWatches = 300
	// mostHeld is the maximum memory of a watch in bytes, without its connection and stack: a fifth more than measured.
	mostHeld = 9 << 10
)

// A watch has one goroutine, which net/http starts, and does not keep sent events. The test runs in real time, because
// a bubble keeps stopped timers and the objects that they refer to.
func TestWatchHasOneGoroutineAndLittleMemory(t *testing.T) {
	var config Config
	f := newFacade(t, func(c *Config) { config = *c })
	for i := range heldWatches {
		f.Put(fmt.Sprint("ns/", i), usual)
	}
	f.get(t, reads[0])
	f.client.CloseIdleConnections()
	handler := New(config)
	ctx, leave := context.WithCancel(t.Context())
	var held sync.WaitGroup
	clients := make([]*blank, heldWatches)
	await(t, func() bool { return inStacks(t, ownMethods) == 0 }) // the last request is still ending
	for i := range clients {
		clients[i] = &blank{header: http.Header{}}
		target := fmt.Sprintf("/api/v1/namespaces/ns/configmaps?watch=1&resourceVersion=0&fieldSelector=metadata.name%%3D%d", i)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		held.Go(func() { handler.ServeHTTP(clients[i], r) })
	}
	sent := func(least int64) func() bool {
		return func() bool {
			return !slices.ContainsFunc(clients, func(c *blank) bool { return c.bytes.Load() < least })
		}
	}
	await(t, sent(2<<10))
	for i := range clients {
		f.Put(fmt.Sprint("ns/", i), strings.Repeat("x", 14<<10))
	}
	await(t, sent(16<<10))
	await(t, func() bool { return inStacks(t, "/handlers.(*watchStream).wait(") == heldWatches }) // nothing is being sent
	// A timer that fires has its own goroutine for a moment.
	testkit.Eventually(t, "no goroutines but the watches", func() error {
		if got := inStacks(t, ownMethods); got != heldWatches {
			return fmt.Errorf("%d watches: got %d goroutines", heldWatches, got)
		}
		return nil
	})
	open := heap()
	leave()
	held.Wait()
	each := (int64(open) - int64(heap())) / heldWatches
	t.Logf("each takes %d bytes", each)
	if each > mostHeld {
		t.Errorf("each takes %d bytes, want at most %d", each, mostHeld)
	}
}

// ownMethods is in the stacks of all goroutines that run methods of this package.
const ownMethods = "/handlers.(*"

// inStacks returns the number of goroutines with a text in their stacks.
func inStacks(t *testing.T, what string) int {
	t.Helper()
	stacks := make([]byte, 64<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, what) {
			n++
		}
	}
	return n
}

// await waits until a condition is true.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the condition did not become true")
		}
	}
}

// heap is the heap in use after garbage collection. The second collection frees objects that a sync.Pool keeps.
func heap() uint64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
