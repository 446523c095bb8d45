package facade

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// mostGarbage is the memory that may be allocated between collections, in percent of the live memory: a quarter of
	// Go's default. Most live memory has no pointers, so a collection of it costs little
	// (docs/adr/0015-less-garbage-is-let-lie.md).
	mostGarbage = 25
	// leastGarbage is the minimum number of bytes that may be allocated between collections. Without it, a facade with
	// small lanes and many requests would collect several times a second, and delay its watches.
	leastGarbage = 48 << 20
	// garbageShare bounds that minimum, as a share of the memory limit. Memory that is allocated during a collection comes
	// on top, as does the kernel's memory for the process.
	garbageShare = 1.0 / 16
	// highestPercent bounds the percentage while little is live: four times Go's default.
	highestPercent = 400
	// garbageEvery is the interval at which the live memory is read.
	garbageEvery = time.Second
)

// garbage adjusts the collector to the live memory. Only one goroutine uses it.
type garbage struct {
	samples []metrics.Sample
	least   uint64 // bytes that may be allocated however little is live
	percent int
	quiet   quiet
}

// The runtime's metrics: live bytes at the last collection, bytes ever allocated, and the heap's bytes, garbage and
// unreturned free memory included.
const (
	liveBytes = iota
	addedBytes
	heapBytes
	freeBytes
)

func newGarbage() *garbage {
	return &garbage{
		samples: []metrics.Sample{
			liveBytes:  {Name: "/gc/heap/live:bytes"},
			addedBytes: {Name: "/gc/heap/allocs:bytes"},
			heapBytes:  {Name: "/memory/classes/heap/objects:bytes"},
			freeBytes:  {Name: "/memory/classes/heap/free:bytes"},
		},
		least: leastOf(debug.SetMemoryLimit(-1)),
	}
}

// read returns one of the samples.
func (g *garbage) read(which int) uint64 { return g.samples[which].Value.Uint64() }

// boundGarbage adjusts the collector until stop is called, unless GOGC is set. The memory limit must be set before.
func boundGarbage() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	g := newGarbage()
	g.look()
	done, look := make(chan struct{}), time.NewTicker(garbageEvery)
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-look.C:
				g.look()
			case <-done:
				return
			}
		}
	})
	return func() {
		look.Stop()
		close(done)
		looking.Wait()
	}
}

// look adjusts the collector, and returns unused memory to the kernel when the process is idle.
func (g *garbage) look() {
	metrics.Read(g.samples)
	g.adjust()
	if live := g.read(liveBytes); g.quiet.idle(g.read(addedBytes), g.read(heapBytes)+g.read(freeBytes)-min(live, g.read(heapBytes))) {
		debug.FreeOSMemory()
	}
}

// adjust sets the collector's percentage. That stops all goroutines for a moment, so small changes are skipped.
func (g *garbage) adjust() {
	percent := garbagePercent(g.read(liveBytes), g.least)
	if changed := percent - g.percent; changed*changed*100 <= g.percent*g.percent {
		return
	}
	g.percent = percent
	debug.SetGCPercent(percent)
}

// leastOf returns the minimum of bytes between collections for a process with a memory limit.
func leastOf(limit int64) uint64 { return uint64(min(leastGarbage, garbageShare*float64(limit))) }

// garbagePercent returns the percentage of the live memory that may be allocated between collections.
func garbagePercent(live, least uint64) int {
	return min(max(mostGarbage, int(100*least/max(live, 1))), highestPercent)
}
