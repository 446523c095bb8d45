package facade

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// mostGarbage is how much of the live memory, in percent, may be added before it is collected: half of Go's own
	// measure. What is live are bytes without pointers for the most part, which cost a collection nothing
	// (docs/adr/0015-less-garbage-is-let-lie.md).
	mostGarbage = 50
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
	live    []metrics.Sample
	least   uint64 // bytes that may lie however little is live
	percent int
}

// boundGarbage bounds it until stop, unless whoever starts the process has said how much. The limit of memory has to be
// set by then.
func boundGarbage() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	g := &garbage{live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, least: leastOf(debug.SetMemoryLimit(-1))}
	g.adjust()
	done, look := make(chan struct{}), time.NewTicker(garbageEvery)
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-look.C:
				g.adjust()
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

// adjust tells the collector. That stops the process for a moment, so it is not done for little.
func (g *garbage) adjust() {
	metrics.Read(g.live)
	percent := garbagePercent(g.live[0].Value.Uint64(), g.least)
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
