package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// fanOutWatches are open on one server at a time, each of all pods and with a connection of its own, as informers have.
const fanOutWatches = 200

// fanOutRate is how fast pods change meanwhile.
var fanOutRate = eventRate{eventsFor: 4 * time.Second, eventEvery: 20 * time.Millisecond}

// measureFanOut compares what one event costs that goes to many watches. kube-apiserver's price is that beyond the same
// writes without watches; the facade's is all that it does, with reading the event from kube-apiserver.
func measureFanOut(ctx context.Context, s *stage, r *report.Result) error {
	pods, err := names(ctx, s.direct, somePods)
	if err != nil {
		return err
	}
	var writes []time.Duration
	blocks := map[*server][]block{}
	for _, step := range []struct {
		server  *server
		watches int
	}{
		{s.direct, 0}, {s.direct, fanOutWatches}, {s.facade, fanOutWatches}, {s.facade, fanOutWatches}, {s.direct, fanOutWatches}, {s.direct, 0},
	} {
		b, err := s.fanOut(ctx, step.server, step.watches, pods)
		if err != nil {
			return err
		}
		if step.watches == 0 {
			writes = append(writes, b.self/time.Duration(len(b.samples)))
		} else {
			blocks[step.server] = append(blocks[step.server], b)
		}
	}
	r.Direct, r.Facade = figures(blocks[s.direct]), figures(blocks[s.facade])
	for _, cpu := range []*time.Duration{&r.Direct.CPU.Median, &r.Direct.CPU.Low, &r.Direct.CPU.High} {
		*cpu -= median(writes)
	}
	return nil
}

// fanOut changes pods while watches look on, and waits until each has every event. A sample of the block is an event.
func (s *stage) fanOut(ctx context.Context, of *server, watches int, pods []string) (b block, err error) {
	say("%d watches of all pods on %s", watches, of.name)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	all, err := of.watchAll(watching, group, watches)
	if err != nil {
		return b, errors.Join(err, group.Wait())
	}
	if err := of.process.ResetPeak(); err != nil {
		return b, err
	}
	self, _, err := s.cpu(of)
	if err != nil {
		return b, err
	}
	sent, err := patch(watching, s.direct, pods, fanOutRate)
	if err == nil {
		err = awaitEvents(watching, of, all, sent)
	}
	after, _, cpuErr := s.cpu(of)
	m, memoryErr := of.process.Memory()
	stop()
	b = block{samples: make([]sample, sent), self: after - self, resident: m.Resident, summit: m.Peak}
	for i := range b.samples {
		b.samples[i].bytes = all.bytes() / int64(max(1, sent*watches))
	}
	return b, errors.Join(err, cpuErr, memoryErr, group.Wait())
}

// fanWatch counts what comes: events are lines.
type fanWatch struct{ events, bytes atomic.Int64 }

// Write implements io.Writer.
func (w *fanWatch) Write(p []byte) (int, error) {
	w.bytes.Add(int64(len(p)))
	w.events.Add(int64(bytes.Count(p, []byte("\n"))))
	return len(p), nil
}

type fanWatches []*fanWatch

func (all fanWatches) bytes() (sum int64) {
	for _, w := range all {
		sum += w.bytes.Load()
	}
	return sum
}

// least is how many events the watch has that has the fewest.
func (all fanWatches) least() int {
	least := int64(1 << 40)
	for _, w := range all {
		least = min(least, w.events.Load())
	}
	return int(least)
}

// watchAll opens watches of all pods. The group holds them until its context ends.
func (s *server) watchAll(ctx context.Context, group *errgroup.Group, n int) (fanWatches, error) {
	q, err := s.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return nil, err
	}
	var all fanWatches
	for range n {
		client, err := s.visitor(http2)
		if err != nil {
			return nil, err
		}
		response, err := s.ask(ctx, client, q)
		if err != nil {
			return nil, err
		}
		w := new(fanWatch)
		all = append(all, w)
		group.Go(func() error {
			defer client.CloseIdleConnections()
			defer response.Body.Close()
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{response.Body}, make([]byte, 64<<10))
			if ctx.Err() != nil {
				return nil
			}
			return &endedError{server: s.name, after: int(w.events.Load()), cause: err}
		})
	}
	return all, nil
}

// awaitEvents waits until every watch has so many events.
func awaitEvents(ctx context.Context, s *server, all fanWatches, sent int) error {
	ctx, cancel := context.WithTimeout(ctx, arriveWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for all.least() < sent {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return &answerError{server: s.name, question: "watch", what: fmt.Sprintf("%d of %d events arrived", all.least(), sent)}
		}
	}
	return nil
}
