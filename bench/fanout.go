package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// fanOutWatches is the number of watches on one server at a time. Each watches all pods over its own connection, as an
// informer does.
const fanOutWatches = 200

// fanOutRate is the rate at which pods change while the watches are open.
var fanOutRate = eventRate{eventsFor: 4 * time.Second, eventEvery: 20 * time.Millisecond}

// measureFanOut compares the cost of one event that is sent to many watches. It subtracts the cost of the same writes
// without watches from kube-apiserver's cost. The facade's cost includes reading the event from kube-apiserver.
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
		{s.direct, 0}, {s.direct, fanOutWatches}, {s.facade, fanOutWatches}, {s.facade, fanOutWatches},
		{s.direct, fanOutWatches}, {s.direct, 0},
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

// fanOut changes pods while watches are open, and waits until each watch has every event. A sample of the block is one
// event.
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
		err = all.await(watching, of, all.least, int64(sent))
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

// fanWatch counts the events and bytes of one watch. An event is a line.
type fanWatch struct{ events, bytes atomic.Int64 }

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

// least returns the smallest number of events that any watch has received.
func (all fanWatches) least() int64 {
	least := int64(math.MaxInt64)
	for _, w := range all {
		least = min(least, w.events.Load())
	}
	return least
}

func (all fanWatches) events() (sum int64) {
	for _, w := range all {
		sum += w.events.Load()
	}
	return sum
}

// watchAll opens n watches of all pods. The goroutines of the group read them until its context ends.
func (s *server) watchAll(ctx context.Context, group *errgroup.Group, n int) (fanWatches, error) {
	q, err := s.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return nil, err
	}
	var all fanWatches
	for range n {
		w, err := s.watchOne(ctx, group, q)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// watchOne opens a watch on its own connection. A goroutine of the group reads it until its context ends.
func (s *server) watchOne(ctx context.Context, group *errgroup.Group, q question) (*fanWatch, error) {
	client, err := s.visitor(http2)
	if err != nil {
		return nil, err
	}
	response, err := s.ask(ctx, client, q)
	if err != nil {
		return nil, err
	}
	w := new(fanWatch)
	group.Go(func() error {
		defer client.CloseIdleConnections()
		defer response.Body.Close()
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{response.Body}, make([]byte, 64<<10))
		if ctx.Err() != nil {
			return nil
		}
		return &endedError{server: s.name, after: int(w.events.Load()), cause: err}
	})
	return w, nil
}

// await waits until the function received (least or events) returns the given number of events.
func (all fanWatches) await(ctx context.Context, s *server, received func() int64, want int64) error {
	ctx, cancel := context.WithTimeout(ctx, arriveWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for received() < want {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return &answerError{server: s.name, question: "watch",
				what: fmt.Sprintf("%d of %d events arrived", received(), want)}
		}
	}
	return nil
}
