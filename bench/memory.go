package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/proc"
)

const (
	// settleEvery and settleReadings: memory has settled when it stayed the same, to the hundredth, for 8 seconds.
	settleEvery    = 2 * time.Second
	settleReadings = 4
	// settleWithin is when waiting ends anyway: Go returns freed memory to the system over minutes.
	settleWithin = 40 * time.Second
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

// settledBoth waits for kube-apiserver and the facade at the same time, and returns what they hold resident.
func settledBoth(ctx context.Context, s *stage) (direct, facade int64, err error) {
	say("waiting for memory to settle")
	group, ctx := errgroup.WithContext(ctx)
	for server, into := range map[*server]*int64{s.direct: &direct, s.facade: &facade} {
		group.Go(func() error {
			m, err := server.settled(ctx)
			*into = m.Resident
			return err
		})
	}
	err = group.Wait()
	return direct, facade, err
}

// live is what a Go program still uses after a garbage collection, in bytes. Other than resident memory it is the same
// every time.
type live struct{ heap, stacks int64 }

// collections is how often garbage is collected at a time: what a sync.Pool keeps over the first goes with the second.
const collections = 2

// collect makes a server collect its garbage and returns what was left; both serve Go's profiles, the end of which
// tells.
func (s *server) collect(ctx context.Context) (l live, err error) {
	for range collections {
		if l, err = s.statistics(ctx, "/debug/pprof/heap?gc=1&debug=1"); err != nil {
			return l, err
		}
	}
	return l, nil
}

// statistics reads how large heap and stacks are from the end of a profile.
func (s *server) statistics(ctx context.Context, path string) (l live, err error) {
	a, err := s.read(ctx, question{name: "profile", path: path, accept: "*/*", encoding: "identity", protocol: http2})
	if err != nil {
		return l, err
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
func memoryAfterCollection(ctx context.Context, s *stage, t *table) error {
	say("collecting garbage")
	direct, err := s.direct.collect(ctx)
	if err != nil {
		return err
	}
	facade, err := s.facade.collect(ctx)
	if err != nil {
		return err
	}
	directResident, facadeResident, err := settledBoth(ctx, s)
	if err != nil {
		return err
	}
	t.addBytes("resident memory, after a forced garbage collection", directResident, facadeResident)
	t.addBytes("live heap, all pods cached", direct.heap, facade.heap)
	return nil
}
