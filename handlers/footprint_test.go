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
	// heldWatches are open at a time.
	heldWatches = 300
	// mostHeld is what one of them may hold beside its connection and stack, in bytes: a fifth more than it does.
	mostHeld = 9 << 10
)

// TestFootprint: a watch is the goroutine that net/http has for it and no other, and what it sent is not kept. It runs
// in real time: a bubble keeps timers that were stopped, and what they hold.
func TestFootprint(t *testing.T) {
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
	await(t, func() bool { return inStacks(t, ownMethods) == 0 }) // the one that has just been answered is still ending
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
	// A timer has another for a moment.
	testkit.Eventually(t, "no goroutines but the watches", func() error {
		if got := inStacks(t, ownMethods); got != heldWatches {
			return fmt.Errorf("%d watches are %d goroutines", heldWatches, got)
		}
		return nil
	})
	open := heap()
	leave()
	held.Wait()
	each := (int64(open) - int64(heap())) / heldWatches
	t.Logf("each holds %d bytes", each)
	if each > mostHeld {
		t.Errorf("each holds %d bytes, more than %d", each, mostHeld)
	}
}

// ownMethods are in the stacks of all goroutines that are in this package, or begun by it.
const ownMethods = "/handlers.(*"

// inStacks is how many goroutines have something in their stacks.
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

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it did not come to pass")
		}
	}
}

// heap is how much of it is in use once garbage is gone; what a sync.Pool keeps over one collection goes with the next.
func heap() uint64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
