package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/listfacade/listfacade/bench/internal/proc"
)

const (
	// settleEvery and settleReadings: memory has settled when it stayed the same, to the hundredth, for 8 seconds.
	settleEvery    = 2 * time.Second
	settleReadings = 4
	// settleWithin is when waiting ends anyway: Go returns freed memory to the system over minutes.
	settleWithin = time.Minute
)

// settled waits until a server's memory no longer changes, and returns what it holds then.
func (s *server) settled(ctx context.Context) (proc.Memory, error) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	last, err := s.process.Memory()
	for same := 0; err == nil && same < settleReadings; {
		select {
		case <-ctx.Done():
			return last, nil
		case <-tick.C:
		}
		var now proc.Memory
		now, err = s.process.Memory()
		same++
		if change := now.Resident - last.Resident; 100*max(change, -change) > last.Resident {
			same, last = 0, now
		}
	}
	return last, err
}

// startCost is what a server took to come up with all pods in memory.
type startCost struct {
	took, cpu time.Duration
	resident  int64         // once it settled, before anybody asked anything
	behind    time.Duration // processor time of kube-apiserver while the facade read from it
}

// started reads what a server's start cost; it became ready just now.
func (s *server) started(ctx context.Context, took time.Duration) (startCost, error) {
	cpu, err := s.process.CPU()
	if err != nil {
		return startCost{}, err
	}
	say("%s is ready; waiting for its memory to settle", s.name)
	m, err := s.settled(ctx)
	return startCost{took: took, cpu: cpu, resident: m.Resident}, err
}

// live is what a Go program still uses after a garbage collection, in bytes. Other than resident memory it is the same
// every time.
type live struct{ heap, stacks int64 }

// collections is how often garbage is collected at a time: what a sync.Pool keeps over the first goes with the second.
const collections = 2

// collect makes a server collect its garbage and returns what was left; both serve Go's profiles, the end of which
// tells.
func (s *server) collect(ctx context.Context) (l live, err error) {
	q := question{name: "profile", path: "/debug/pprof/heap?gc=1&debug=1", accept: "*/*", encoding: "identity", protocol: http2}
	var a reading
	for range collections {
		if a, err = s.read(ctx, q); err != nil {
			return l, err
		}
	}
	_, statistics, _ := bytes.Cut(a.body, []byte("\n# runtime.MemStats\n"))
	for line := range bytes.Lines(statistics) {
		// Whatever is no such line leaves the values alone.
		_, _ = fmt.Sscanf(string(line), "# HeapAlloc = %d", &l.heap)
		_, _ = fmt.Sscanf(string(line), "# Stack = %d /", &l.stacks)
	}
	if l.heap == 0 || l.stacks == 0 {
		return l, fmt.Errorf("%s: the profile does not tell how large heap and stacks are", s.name)
	}
	return l, nil
}

// memoryAfterCollection adds what both hold once garbage is out of the way.
func memoryAfterCollection(ctx context.Context, servers pair, t *table) error {
	say("collecting garbage")
	var lives [2]live
	var resident [2]int64
	for i, s := range []*server{servers.direct, servers.facade} {
		var err error
		if lives[i], err = s.collect(ctx); err != nil {
			return err
		}
		m, err := s.settled(ctx)
		if err != nil {
			return err
		}
		resident[i] = m.Resident
	}
	t.addBytes("resident memory, after a forced garbage collection", resident[0], resident[1])
	t.addBytes("live heap, all pods cached", lives[0].heap, lives[1].heap)
	return nil
}

// memoryPeak adds the most that both ever held.
func memoryPeak(servers pair, t *table) error {
	direct, err := servers.direct.process.Memory()
	if err != nil {
		return err
	}
	facade, err := servers.facade.process.Memory()
	if err != nil {
		return err
	}
	t.addBytes("peak resident memory, after all lists (one at a time)", direct.Peak, facade.Peak)
	return nil
}

// megabytes prints a size.
func megabytes(n int64) string {
	if n < 1_000_000 {
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
