package facade

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// mostGarbage is how much of the live memory, in percent, may be added before it is collected: a quarter of Go's own
	// measure. What is live are bytes without pointers for the most part, which cost a collection nothing
	// (docs/adr/0015-less-garbage-is-let-lie.md).
	mostGarbage = 25
	// leastGarbage is how many bytes may be added all the same. A facade with little in its lanes would collect several
	// times a second while many ask it, and its watches would wait for that.
	leastGarbage = 48 << 20
	// garbageShare is how much of the memory that the process may take that is at most: what is added while garbage is
	// being collected comes on top, and so does what the kernel holds for the process.
	garbageShare = 1.0 / 16
	// highestPercent bounds that while little is live: four times Go's own measure for a heap that has just begun.
	highestPercent = 400
	// garbageEvery is how often it is looked what is live.
	garbageEvery = time.Second
)

// garbage says how much may lie, by what is live. Used by one goroutine.
type garbage struct {
	samples []metrics.Sample
	least   uint64 // bytes that may lie however little is live
	percent int
	quiet   quiet
}

// What is read of the runtime: what the last collection found live, all that was ever added, and what the heap has,
// garbage and free memory that was not given back included.
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

// boundGarbage bounds it until stop, unless whoever starts the process has said how much. The limit of memory has to be
// set by then.
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

// look tells the collector what may lie, and gives back to the kernel what is not used.
func (g *garbage) look() {
	metrics.Read(g.samples)
	g.adjust()
	if live := g.read(liveBytes); g.quiet.idle(g.read(addedBytes), g.read(heapBytes)+g.read(freeBytes)-min(live, g.read(heapBytes))) {
		debug.FreeOSMemory()
	}
}

// adjust tells the collector. That stops the process for a moment, so it is not done for little.
func (g *garbage) adjust() {
	percent := garbagePercent(g.read(liveBytes), g.least)
	if changed := percent - g.percent; changed*changed*100 <= g.percent*g.percent {
		return
	}
	g.percent = percent
	debug.SetGCPercent(percent)
}

// leastOf is how many bytes may be added however little is live, of a process that may take so many.
func leastOf(limit int64) uint64 { return uint64(min(leastGarbage, garbageShare*float64(limit))) }

// garbagePercent is how many percent of what is live may be added.
func garbagePercent(live, least uint64) int {
	return min(max(mostGarbage, int(100*least/max(live, 1))), highestPercent)
}
