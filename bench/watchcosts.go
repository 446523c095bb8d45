package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// busyRate is the interval between two changes of pods with busy watches.
const busyRate = 5 * time.Millisecond

// watchCost is the cost of opening many watches, and the memory of each watch.
type watchCost struct {
	opening
	idle, busy usage
}

// usage is the memory of a server's process, in bytes: heap and stacks after a garbage collection, and resident memory.
type usage struct{ live, resident int64 }

func (u usage) minus(v usage) usage { return usage{u.live - v.live, u.resident - v.resident} }

func (u usage) over(n int) usage { return usage{u.live / int64(n), u.resident / int64(n)} }

// usage reads resident memory first, because a collection would change it.
func (s *server) usage(ctx context.Context) (u usage, err error) {
	m, err := s.process.Memory()
	if err != nil {
		return u, err
	}
	l, err := s.collect(ctx)
	return usage{live: l.heap + l.stacks, resident: m.Resident}, err
}

// cost opens watches of one pod each, and changes each pod. Before that, it makes the same changes without watches. It
// subtracts the memory of these changes, which is mostly history.
func (m manyWatches) cost(ctx context.Context, s *stage, of *server, pods []string) (c watchCost, err error) {
	say("%s: %s", of.name, m)
	rate := eventRate{eventsFor: time.Duration(m.watches) * busyRate, eventEvery: busyRate}
	var without [2]usage
	for i := range without {
		if i > 0 {
			if _, err := patch(ctx, s.direct, pods[:m.watches], rate); err != nil {
				return c, err
			}
		}
		if without[i], err = of.usage(ctx); err != nil {
			return c, err
		}
	}
	changes := without[1].minus(without[0])
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	measure := func() error {
		q, err := of.watchFrom(watching, "/api/v1/pods")
		if err != nil {
			return err
		}
		if c.opening, err = m.open(watching, group, of, watchesOf(q, pods)); err != nil {
			return err
		}
		idle, err := of.usage(watching)
		if err != nil {
			return err
		}
		if _, err := patch(watching, s.direct, pods[:m.watches], rate); err != nil {
			return err
		}
		busy, err := of.usage(watching)
		c.idle, c.busy = idle.minus(without[1]).over(m.watches), busy.minus(without[1]).minus(changes).over(m.watches)
		return err
	}
	err = measure()
	stop()
	return c, errors.Join(err, group.Wait())
}

// manyWatchesRounds are the measured ways to open watches.
var manyWatchesRounds = []manyWatches{
	{watches: 2000, protocol: http2, streams: 100, openers: openers},
	{watches: 2000, protocol: http2, streams: 50, openers: openers},
	{watches: 1000, protocol: http2, streams: 1, openers: openers},
	{watches: 1000, protocol: http1, streams: 1, openers: openers},
}

// measureManyWatches adds the cost of one watch, for each way to open watches. It measures each way on a new facade,
// because a process reuses memory that it has freed. It does not restart kube-apiserver, whose resident memory
// therefore benefits from that reuse.
func measureManyWatches(ctx context.Context, s *stage, t *table) error {
	pods, err := names(ctx, s.direct, "/api/v1/pods?resourceVersion=0")
	if err != nil {
		return err
	}
	for _, m := range manyWatchesRounds {
		if m.watches > len(pods) {
			return fmt.Errorf("%d pods are too few for %s", len(pods), m)
		}
		f, err := s.withoutWatchLimits(ctx)
		if err != nil {
			return err
		}
		facade, err := m.cost(ctx, s, f.server, pods)
		f.stop()
		if err != nil {
			return err
		}
		direct, err := m.cost(ctx, s, s.direct, pods)
		if err != nil {
			return err
		}
		say("%s: %+v, %+v", m, direct, facade)
		name := m.String()
		t.addDurations(name+": server CPU to open one", direct.cpu/time.Duration(m.watches),
			facade.cpu/time.Duration(m.watches))
		t.addBytes(name+", each: heap and stacks, idle", direct.idle.live, facade.idle.live)
		t.addBytes(name+", each: heap and stacks, busy", direct.busy.live, facade.busy.live)
		t.addBytes(name+", each: resident, idle", direct.idle.resident, facade.idle.resident)
		t.addBytes(name+", each: resident, busy", direct.busy.resident, facade.busy.resident)
	}
	return nil
}

// measureOpening adds how long it takes to open 10,000 watches, in the order kube-apiserver, facade, and back.
func measureOpening(ctx context.Context, s *stage, t *table) error {
	pods, err := names(ctx, s.direct, "/api/v1/pods?resourceVersion=0")
	if err != nil {
		return err
	}
	f, err := s.withoutWatchLimits(ctx)
	if err != nil {
		return err
	}
	defer f.stop()
	for _, clients := range []int{8, 64} {
		m := manyWatches{watches: 10_000, protocol: http2, streams: 100, openers: clients}
		took, cpu := map[*server][]time.Duration{}, map[*server][]time.Duration{}
		for _, of := range []*server{s.direct, f.server, f.server, s.direct} {
			o, err := m.opened(ctx, of, pods)
			if err != nil {
				return err
			}
			took[of], cpu[of] = append(took[of], o.took), append(cpu[of], o.cpu/time.Duration(m.watches))
		}
		name := fmt.Sprintf("%s, opened by %d clients at once", m, clients)
		t.addDurations(name+": time", median(took[s.direct]), median(took[f.server]))
		t.addDurations(name+": server CPU for each", median(cpu[s.direct]), median(cpu[f.server]))
	}
	return nil
}

// opened opens the watches and closes them again.
func (m manyWatches) opened(ctx context.Context, of *server, pods []string) (o opening, err error) {
	say("%s: opening %s by %d clients", of.name, m, m.openers)
	q, err := of.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return o, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	o, err = m.open(watching, group, of, watchesOf(q, pods))
	stop()
	return o, errors.Join(err, group.Wait())
}

// withoutWatchLimits starts a facade that allows one client any number of watches. It does not authorize the client's
// requests, because each watch would need a decision of kube-apiserver.
func (s *stage) withoutWatchLimits(ctx context.Context, more ...string) (*facade, error) {
	flags := slices.Concat([]string{"--preload", "pods", "--max-watches-per-user", "50000", "--always-allow-groups",
		"system:masters"}, highLimits, more)
	f, _, err := startFacade(ctx, s.dir, s.cluster, s.direct, flags...)
	return f, err
}
