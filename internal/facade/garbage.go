package facade

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// mostGarbage is the memory that may be allocated between collections, in percent of the live memory. It is a
	// quarter of Go's default, because most live memory has no pointers and is cheap to collect
	// (docs/adr/0015-garbage-collection.md).
	mostGarbage = 25
	// mostScanned is like mostGarbage, for memory that a collection scans for pointers: mostly stacks and requests of
	// watches. It is higher, because collections spend their time on scanning. At 60, a watch takes less than 40 kB.
	mostScanned = 60
	// leastGarbage is the minimum number of bytes that may be allocated between collections. Otherwise, a facade with
	// small lanes and many requests would collect several times a second and delay its watches.
	leastGarbage = 48 << 20
	// garbageShare bounds leastGarbage to a share of the memory limit. A small limit must also leave memory for
	// collections and for the kernel.
	garbageShare = 1.0 / 16
	// highestPercent bounds the percentage while there is little live memory. It is four times Go's default.
	highestPercent = 400
	garbageEvery   = time.Second
)

// garbage adjusts the collector to the live memory. Only one goroutine uses it.
type garbage struct {
	samples []metrics.Sample
	least   uint64 // bytes that may always be allocated between collections
	percent int
	quiet   quiet
}

// Indexes of the runtime's metrics.
const (
	liveBytes    = iota // live at the last collection
	addedBytes          // allocated since the start
	heapBytes           // live objects and garbage
	freeBytes           // free memory that Go has not returned to the kernel
	scannedBytes        // heap, stacks and global variables that the last collection scanned
	stackBytes          // part of scannedBytes
)

func newGarbage() *garbage {
	return &garbage{
		samples: []metrics.Sample{
			liveBytes:    {Name: "/gc/heap/live:bytes"},
			addedBytes:   {Name: "/gc/heap/allocs:bytes"},
			heapBytes:    {Name: "/memory/classes/heap/objects:bytes"},
			freeBytes:    {Name: "/memory/classes/heap/free:bytes"},
			scannedBytes: {Name: "/gc/scan/total:bytes"},
			stackBytes:   {Name: "/gc/scan/stack:bytes"},
		},
		least: leastOf(debug.SetMemoryLimit(-1)),
	}
}

func (g *garbage) read(which int) uint64 { return g.samples[which].Value.Uint64() }

// boundGarbage adjusts the collector until stop is called. If GOGC is set, it does nothing. The memory limit must be
// set before.
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

func (g *garbage) look() {
	metrics.Read(g.samples)
	g.adjust()
	if live := g.read(liveBytes); g.quiet.idle(g.read(addedBytes),
		g.read(heapBytes)+g.read(freeBytes)-min(live, g.read(heapBytes))) {
		debug.FreeOSMemory()
	}
}

// adjust sets the collector's percentage. It skips changes of up to a tenth, because each change stops all goroutines
// for a moment.
func (g *garbage) adjust() {
	percent := garbagePercent(g.read(liveBytes)+g.read(stackBytes), g.read(scannedBytes), g.least)
	if changed := percent - g.percent; changed*changed*100 <= g.percent*g.percent {
		return
	}
	g.percent = percent
	debug.SetGCPercent(percent)
}

// leastOf returns the bytes that may always be allocated between collections, for a memory limit in bytes.
func leastOf(limit int64) uint64 { return uint64(min(leastGarbage, garbageShare*float64(limit))) }

// garbagePercent returns the memory that may be allocated between collections, in percent of live. live includes
// stacks, as for GOGC. scanned is the part of live that collections scan for pointers.
func garbagePercent(live, scanned, least uint64) int {
	live = max(live, 1)
	scanned = min(scanned, live)
	garbage := (mostGarbage*(live-scanned) + mostScanned*scanned) / live
	return min(max(int(garbage), int(100*least/live)), highestPercent)
}
