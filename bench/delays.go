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

// arriveWithin is how long after the last patch every event must have arrived everywhere.
const arriveWithin = 20 * time.Second

// delays are those of every event, in no order.
type delays struct {
	direct, facade []time.Duration // from when the patch is sent until the event arrives
	added          []time.Duration // how much later the facade's event came than kube-apiserver's
}

// delayTries is how often a measurement may be spoiled by a watch that ended.
const delayTries = 3

// measureDelays patches pods at a steady rate while one watch on each server looks on.
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
		say("once more: %v", err)
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

// awaitAll waits until both have seen every event.
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
				return &answerError{server: o.server.name, question: "watch", what: fmt.Sprintf("%d of %d events arrived", o.count(), sent)}
			}
		}
	}
	return nil
}

// between pairs the events of both.
func between(direct, facade map[int64]arrival) (delays, error) {
	var d delays
	for stamp, want := range direct {
		got, ok := facade[stamp]
		if !ok || got.hash != want.hash {
			return d, &answerError{server: facadeName, question: "watch", what: fmt.Sprintf("the event of %d is missing or another", stamp)}
		}
		sent := time.Unix(0, stamp)
		d.direct = append(d.direct, want.at.Sub(sent))
		d.facade = append(d.facade, got.at.Sub(sent))
		d.added = append(d.added, got.at.Sub(want.at))
	}
	return d, nil
}
