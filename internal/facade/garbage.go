package facade

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// mostGarbage is the memory that may be allocated between collections, in percent of the live memory. It is a quarter
	// of Go's default, because most live memory has no pointers and is cheap to collect
	// (docs/adr/0015-less-garbage-is-let-lie.md).
	mostGarbage = 25
	// mostScanned is the same for memory that a collection scans for pointers: mostly stacks and requests of watches. It
	// is higher, because a collection spends its time on scanning. A watch still takes less than 40 kB.
	mostScanned = 60
	// leastGarbage is the minimum number of bytes that may be allocated between collections. Without it, a facade with
	// small lanes and many requests would collect several times a second, and delay its watches.
	leastGarbage = 48 << 20
	// garbageShare bounds leastGarbage, as a share of the memory limit. The rest of the limit is also needed for memory
	// that is allocated during a collection, and for the kernel's memory for the process.
	garbageShare = 1.0 / 16
	// highestPercent bounds the percentage while there is little live memory. It is four times Go's default.
	highestPercent = 400
	// garbageEvery is the interval at which the live memory is read.
	garbageEvery = time.Second
)

// garbage adjusts the collector to the live memory. Only one goroutine uses it.
type garbage struct {
	samples []metrics.Sample
	least   uint64 // minimum of bytes that may be allocated between collections
	percent int
	quiet   quiet
}

// Indexes of the runtime's metrics: bytes live at the last collection, bytes allocated since the start, bytes of live
// objects and garbage, and bytes of free memory that Go has not returned to the kernel.
const (
	liveBytes = iota
	addedBytes
	heapBytes
	freeBytes
	scannedBytes // heap, stacks and global variables that the last collection scanned
	stackBytes   // part of scannedBytes
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

// read returns the sample with an index.
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
	if live := g.read(liveBytes); g.quiet.idle(g.read(addedBytes),
		g.read(heapBytes)+g.read(freeBytes)-min(live, g.read(heapBytes))) {
		debug.FreeOSMemory()
	}
}

// adjust sets the collector's percentage. A change stops all goroutines for a moment, so changes of up to a tenth are
// skipped.
func (g *garbage) adjust() {
	percent := garbagePercent(g.read(liveBytes)+g.read(stackBytes), g.read(scannedBytes), g.least)
	if changed := percent - g.percent; changed*changed*100 <= g.percent*g.percent {
		return
	}
	g.percent = percent
	debug.SetGCPercent(percent)
}

// leastOf returns the minimum number of bytes that may be allocated between collections, for a memory limit in bytes.
func leastOf(limit int64) uint64 { return uint64(min(leastGarbage, garbageShare*float64(limit))) }

// garbagePercent returns the percentage of the live memory that may be allocated between collections. live includes
// stacks, as GOGC does. scanned is the part of it that collections scan for pointers.
func garbagePercent(live, scanned, least uint64) int {
	live = max(live, 1)
	scanned = min(scanned, live)
	garbage := (mostGarbage*(live-scanned) + mostScanned*scanned) / live
	return min(max(int(garbage), int(100*least/live)), highestPercent)
}
