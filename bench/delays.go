package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// stampKey is the annotation that says when a pod was patched, in nanoseconds.
const stampKey = "bench.listfacade.dev/sent"

// stampBefore precedes the stamp in an event. In the managed fields the key has a prefix of its own.
const stampBefore = `"` + stampKey + `":"`

// arriveWithin is how long after the last patch every event must have arrived everywhere.
const arriveWithin = 20 * time.Second

// arrival is one event as one watch saw it.
type arrival struct {
	at   time.Time
	hash uint64 // of the whole frame
}

// observer reads one watch of all pods, line by line.
type observer struct {
	server *server
	seed   maphash.Seed

	mu   sync.Mutex
	seen map[int64]arrival // by stamp; guarded by mu
}

// run watches until the context ends. ready is called once the watch is established.
func (o *observer) run(ctx context.Context, ready func()) error {
	q, err := o.server.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return err
	}
	response, err := o.server.open(ctx, q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	ready()
	lines := bufio.NewReaderSize(response.Body, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		at := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: the watch ended after %d events: %w", o.server.name, o.count(), err)
		}
		if err := o.note(line, at); err != nil {
			return err
		}
	}
}

func (o *observer) note(frame []byte, at time.Time) error {
	_, rest, ok := bytes.Cut(frame, []byte(stampBefore))
	if !ok {
		return &answerError{server: o.server.name, question: "watch", what: fmt.Sprintf("unexpected event %.200q", frame)}
	}
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	stamp, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return &answerError{server: o.server.name, question: "watch", what: "stamp: " + err.Error()}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.seen[stamp]; twice {
		return &answerError{server: o.server.name, question: "watch", what: "an event came twice"}
	}
	o.seen[stamp] = arrival{at: at, hash: maphash.Bytes(o.seed, frame)}
	return nil
}

func (o *observer) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen)
}

// delays are those of every event, in no order.
type delays struct {
	direct, facade []time.Duration // from the patch's departure to the event's arrival
	added          []time.Duration // how much later the facade's event came than kube-apiserver's
}

// measureDelays patches pods at a steady rate while one watch on each server looks on.
func measureDelays(ctx context.Context, servers pair, o options) (delays, error) {
	pods, err := names(ctx, servers.direct)
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
	sent, err := patch(watching, servers.direct, pods, o)
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
