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
	// settleEvery and settleReadings define settled memory: it changes by less than one percent for 8 seconds.
	settleEvery    = 2 * time.Second
	settleReadings = 4
	// settleWithin is the maximum wait. Go returns freed memory to the system over minutes.
	settleWithin = 40 * time.Second
)

// settled waits until a server's memory no longer changes, at most settleWithin, and returns it.
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

// settledBoth waits for kube-apiserver and the facade at the same time, and returns their resident memory.
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

// live is the memory that a Go program still uses after a garbage collection, in bytes. Unlike resident memory, it is
// the same in each run.
type live struct{ heap, stacks int64 }

// collections is the number of consecutive garbage collections. A sync.Pool frees its objects only with the second one.
const collections = 2

// collect forces garbage collections in a server and returns the live memory. Both servers serve Go's profiles, which
// end with the memory statistics.
func (s *server) collect(ctx context.Context) (l live, err error) {
	for range collections {
		if l, err = s.statistics(ctx, "/debug/pprof/heap?gc=1&debug=1"); err != nil {
			return l, err
		}
	}
	return l, nil
}

// statistics reads the sizes of heap and stacks from the end of a profile.
func (s *server) statistics(ctx context.Context, path string) (l live, err error) {
	a, err := s.read(ctx, question{name: "profile", path: path, accept: "*/*", encoding: "identity", protocol: http2})
	if err != nil {
		return l, err
	}
	_, statistics, _ := bytes.Cut(a.body, []byte("\n# runtime.MemStats\n"))
	for line := range bytes.Lines(statistics) {
		// Sscanf leaves the values unchanged on any other line.
		_, _ = fmt.Sscanf(string(line), "# HeapAlloc = %d", &l.heap)
		_, _ = fmt.Sscanf(string(line), "# Stack = %d /", &l.stacks)
	}
	if l.heap == 0 || l.stacks == 0 {
		return l, fmt.Errorf("%s: the profile has no sizes of heap and stacks", s.name)
	}
	return l, nil
}

// memoryAfterCollection adds the memory of both servers after a garbage collection.
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
