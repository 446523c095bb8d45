package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// nodeWatches has as many watches as the agents of 5,000 nodes.
var nodeWatches = manyWatches{watches: 5000, protocol: http2, streams: 100, openers: openers}

// nodeShares are the measured numbers of watches that select the same node. The remaining watches select nodes without
// pods.
var nodeShares = []int{1, 10}

// nodeWatchesRate is 200 updates a second.
var nodeWatchesRate = eventRate{eventsFor: 8 * time.Second, eventEvery: 5 * time.Millisecond}

// nodeEvents is the cost of an update, and for each update the time until the last watch received its event.
type nodeEvents struct {
	cpu   time.Duration // for each update
	taken []time.Duration
}

// measureNodeWatches compares the cost of an update of a pod while each watch selects the pods of one node. The cost of
// kube-apiserver includes the write. The write is most of that cost, and varies by more than the rest between two runs.
// The cost of the facade is all of its work.
func measureNodeWatches(ctx context.Context, s *stage, t *table) error {
	pods, err := names(ctx, s.direct, somePods)
	if err != nil {
		return err
	}
	f, err := s.withoutWatchLimits(ctx)
	if err != nil {
		return err
	}
	defer f.stop()
	for _, share := range nodeShares {
		if err := s.measureNodeShare(ctx, f.server, share, pods, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) measureNodeShare(ctx context.Context, facade *server, share int, pods []string, t *table) error {
	writes, costs, taken := []time.Duration{}, map[*server][]time.Duration{}, map[*server][]time.Duration{}
	for _, of := range []*server{nil, s.direct, facade, facade, s.direct, nil} {
		if of == nil {
			e, err := s.nodeEvents(ctx, s.direct, manyWatches{}, share, pods)
			if err != nil {
				return err
			}
			writes = append(writes, e.cpu)
			continue
		}
		e, err := s.nodeEvents(ctx, of, nodeWatches, share, pods)
		if err != nil {
			return err
		}
		costs[of], taken[of] = append(costs[of], e.cpu), slices.Concat(taken[of], e.taken)
	}
	say("CPU of an update: writes alone %v, kube-apiserver %v, facade %v", writes, costs[s.direct], costs[facade])
	name := fmt.Sprintf("%d watches by node, %d of a pod's, 200 updates/s", nodeWatches.watches, share)
	t.addDurations(name+": server CPU of an update, with the write", median(costs[s.direct]), median(costs[facade]))
	t.add("the write alone: server CPU", report.Duration(median(writes)), "", "")
	t.addTimes(name+": PATCH sent until the last of its watches has the event", taken[s.direct], taken[facade])
	return nil
}

// nodeEvents changes pods while watches of their nodes are open, with the given number of watches for each node. It
// waits until each watch has received its events.
func (s *stage) nodeEvents(ctx context.Context, of *server, m manyWatches, share int,
	pods []string) (e nodeEvents, err error) {
	say("%d watches by node on %s", m.watches, of.name)
	q, err := of.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return e, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	received := newSubscriptions()
	m.read = received.read
	measure := func() error {
		if m.watches > 0 {
			byNode := func(i int) string {
				node := fmt.Sprint("empty-", i)
				if nodes := s.options.pods.Nodes; i < nodes*share {
					node = s.options.pods.Node(i)
				}
				return q.path + "&fieldSelector=spec.nodeName%3D" + node
			}
			if _, err := m.open(watching, group, of, byNode); err != nil {
				return err
			}
		}
		before, _, err := s.cpu(of)
		if err != nil {
			return err
		}
		sent, err := patch(watching, s.direct, pods, nodeWatchesRate)
		if err != nil {
			return err
		}
		if m.watches > 0 {
			if err := received.await(watching, sent*share); err != nil {
				return err
			}
		}
		after, _, err := s.cpu(of)
		e = nodeEvents{cpu: (after - before) / time.Duration(sent), taken: received.last()}
		return err
	}
	err = measure()
	stop()
	return e, errors.Join(err, group.Wait())
}
