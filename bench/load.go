package main

import (
	"context"
	"slices"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// load describes the requests of a scenario's clients.
type load struct {
	question question
	shape    shape
	clients  int  // concurrent, each with its own connection; 0 means one
	herd     bool // all clients start together and send one question; otherwise each repeats its question
	rounds   int  // maximum; 0 means the number in the options
	once     bool // kube-apiserver is measured in one block for each round, because a block takes long
	beside   bool // whether other clients write during the measurement
}

// shape is the way in which a client reads the complete response to a question.
type shape int

const (
	single   shape = iota
	walked         // page after page, to the last
	streamed       // a streaming list, up to the end of its initial events
)

// target is one of the servers, with its clients.
type target struct {
	server  *server
	callers []caller
	visit   visit
	blocks  []block
	mayFail bool // all responses may fail
}

// block contains the measurements of one server in one interval, in which the clients send requests to it.
type block struct {
	samples          []sample
	failed           int
	took             time.Duration
	self             time.Duration // processor time of the measured server
	direct           time.Duration // processor time of kube-apiserver
	resident, summit int64         // memory at the end, and its peak
}

// compare measures in the order kube-apiserver, facade, file server, and back, so that a gradual change of the machine
// affects all of them alike. It compares the responses before it times anything.
func (s *stage) compare(ctx context.Context, set string, l load, r *report.Result) error {
	var err error
	if l.question, err = s.facade.dated(ctx, l.question); err != nil {
		return err
	}
	targets := []*target{{server: s.direct, visit: l.visit(), mayFail: l.herd}, {server: s.facade, visit: l.visit()}}
	say("%s: comparing the answers", set)
	if kept := s.options.pods.Pods <= keptPods; kept {
		n, err := s.record(ctx, set, l)
		if err != nil {
			return err
		}
		defer func() { _ = s.files.answers.Remove(set) }() // after an error, run removes the set at the end
		targets = append(targets, &target{server: s.files.server, visit: l.sends(set, n)})
	} else if err := s.agree(ctx, l.question); err != nil {
		return err
	}
	say("%s: measuring", set)
	for _, t := range targets {
		if t.callers, err = t.server.callers(ctx, max(1, l.clients), l.question.protocol); err != nil {
			return err
		}
		defer dismiss(t.callers)
	}
	measure := func(ctx context.Context) error { return s.rounds(ctx, targets, l) }
	if l.beside {
		err = s.beside(ctx, measure)
	} else {
		err = measure(ctx)
	}
	if err != nil {
		return err
	}
	r.Direct, r.Facade = figures(targets[0].blocks), figures(targets[1].blocks)
	var idle float64
	if len(targets) > 2 {
		r.Files, idle = figures(targets[2].blocks), idling(targets[2].blocks)
	} else if idle, err = s.idles(ctx); err != nil {
		return err
	}
	r.Facade.Behind = behind(targets[1].blocks, idle)
	return nil
}

// rounds measures the blocks. Before them, one block of each server is the warm-up. Herds have no warm-up, because
// their reads from kube-apiserver take too long.
func (s *stage) rounds(ctx context.Context, targets []*target, l load) error {
	rounds := s.options.rounds
	if l.rounds > 0 {
		rounds = min(rounds, l.rounds)
	}
	back := slices.Clone(targets)
	slices.Reverse(back)
	order := slices.Concat(targets, back)
	if l.once {
		order = order[:len(order)-1]
	}
	if !l.herd {
		for _, t := range targets {
			if _, err := s.block(ctx, t, l); err != nil {
				return err
			}
		}
	}
	for range rounds {
		for _, t := range order {
			b, err := s.block(ctx, t, l)
			if err != nil {
				return err
			}
			t.blocks = append(t.blocks, b)
		}
	}
	return nil
}

// block lets the clients of one server send their requests, and measures the cost.
func (s *stage) block(ctx context.Context, t *target, l load) (b block, err error) {
	if err := t.server.process.ResetPeak(); err != nil {
		return b, err
	}
	self, direct, err := s.cpu(t.server)
	if err != nil {
		return b, err
	}
	if b, err = t.drive(ctx, l); err != nil {
		return b, err
	}
	selfAfter, directAfter, err := s.cpu(t.server)
	if err != nil {
		return b, err
	}
	b.self, b.direct = selfAfter-self, directAfter-direct
	m, err := t.server.process.Memory()
	b.resident, b.summit = m.Resident, m.Peak
	return b, err
}

// cpu returns the processor times of a server and of kube-apiserver so far.
func (s *stage) cpu(of *server) (self, direct time.Duration, err error) {
	if self, err = of.process.CPU(); err != nil {
		return 0, 0, err
	}
	direct, err = s.direct.process.CPU()
	return self, direct, err
}

func figures(blocks []block) *report.Figures {
	f := new(report.Figures)
	var cpu, took, wall, first []time.Duration
	var resident []int64
	for _, b := range blocks {
		cpu = append(cpu, b.self/time.Duration(len(b.samples)+b.failed)) // a failed response has a cost, too
		took = append(took, b.took)
		resident = append(resident, b.resident)
		f.Peak = max(f.Peak, b.summit)
		f.Answers += len(b.samples)
		f.Failed += b.failed
		for _, one := range b.samples {
			wall, first = append(wall, one.wall), append(first, one.first)
			f.Bytes = one.bytes
		}
	}
	if len(wall) == 0 { // all responses failed, so the times are lower bounds
		wall, first = took, took
	}
	f.CPU = report.Spread{Median: median(cpu), Low: quantile(cpu, 0.25), High: quantile(cpu, 0.75)}
	f.P50, f.P99, f.First = median(wall), quantile(wall, 0.99), median(first)
	f.Until, f.Resident = median(took), median(resident)
	return f
}

// idling returns the average number of processors that kube-apiserver uses without requests. blocks are those of the
// file server, during which kube-apiserver receives none.
func idling(blocks []block) float64 {
	var shares []float64
	for _, b := range blocks {
		shares = append(shares, float64(b.direct)/float64(b.took))
	}
	return median(shares)
}

// behind returns the processor time of kube-apiserver for one response of the facade, without its idle load.
func behind(blocks []block, idle float64) time.Duration {
	var all []time.Duration
	for _, b := range blocks {
		extra := b.direct - time.Duration(idle*float64(b.took))
		all = append(all, max(0, extra)/time.Duration(len(b.samples)))
	}
	return median(all)
}
