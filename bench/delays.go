package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// arriveWithin is the timeout for events after the last patch.
const arriveWithin = 20 * time.Second

// delays are the delays of all events, unordered.
type delays struct {
	direct, facade []time.Duration // from the PATCH until the event arrives
	added          []time.Duration // delay of the facade's event after kube-apiserver's
}

// delayTries is the maximum number of attempts. An attempt fails if a server ends a watch.
const delayTries = 3

// measureDelays patches pods at a steady rate while one watch on each server receives the events.
func measureDelays(ctx context.Context, s *stage, t *table) (err error) {
	say("patching pods for %s", s.options.eventsFor)
	for range delayTries {
		var d delays
		d, err = tryDelays(ctx, s.pair, s.options.eventRate)
		if err == nil {
			t.addDelays(d)
			return nil
		}
		if _, ended := errors.AsType[*endedError](err); !ended {
			return err
		}
		say("retrying: %v", err)
	}
	return err
}

func tryDelays(ctx context.Context, servers pair, rate eventRate) (delays, error) {
	pods, err := names(ctx, servers.direct, somePods)
	if err != nil {
		return delays{}, err
	}
	seed := maphash.MakeSeed()
	direct := &observer{server: servers.direct, seed: seed, seen: map[int64]arrival{}}
	facade := &observer{server: servers.facade, seed: seed, seen: map[int64]arrival{}}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	var established sync.WaitGroup
	for _, watch := range []*observer{direct, facade} {
		established.Add(1)
		ready := sync.OnceFunc(established.Done)
		group.Go(func() error {
			defer ready()
			return watch.run(watching, ready)
		})
	}
	established.Wait()
	sent, err := patch(watching, servers.direct, pods, rate)
	if err == nil {
		err = awaitAll(watching, sent, direct, facade)
	}
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return delays{}, err
	}
	return between(direct.seen, facade.seen)
}

// awaitAll waits until all observers have received every event.
func awaitAll(ctx context.Context, sent int, observers ...*observer) error {
	ctx, cancel := context.WithTimeout(ctx, arriveWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for _, o := range observers {
		for o.count() < sent {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return &answerError{server: o.server.name, question: "watch",
					what: fmt.Sprintf("%d of %d events arrived", o.count(), sent)}
			}
		}
	}
	return nil
}

// between pairs the events of both servers by their stamps. It fails when an event is missing or differs.
func between(direct, facade map[int64]arrival) (delays, error) {
	var d delays
	for stamp, want := range direct {
		got, ok := facade[stamp]
		if !ok || got.hash != want.hash {
			return d, &answerError{server: facadeName, question: "watch",
				what: fmt.Sprintf("the event with stamp %d is missing or differs", stamp)}
		}
		sent := time.Unix(0, stamp)
		d.direct = append(d.direct, want.at.Sub(sent))
		d.facade = append(d.facade, got.at.Sub(sent))
		d.added = append(d.added, got.at.Sub(want.at))
	}
	return d, nil
}
