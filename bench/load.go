package main

import (
	"context"
	"slices"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// load is what clients ask in a scenario.
type load struct {
	question question
	shape    shape
	clients  int  // at once, each with a connection of its own; 0 is one
	herd     bool // all start at the same moment and ask once; else each asks again and again for a block
	rounds   int  // at most; 0: as many as the options say
	once     bool // kube-apiserver has one block only, because it takes so long
	beside   bool // others write meanwhile
}

// shape is how a question is asked to its end.
type shape int

const (
	single   shape = iota
	walked         // page after page, to the last
	streamed       // a streaming list, until its initial events are over
)

// target is one of the servers with the clients that ask it.
type target struct {
	server  *server
	callers []caller
	visit   visit
	blocks  []block
	mayFail bool // nobody has to get an answer
}

// block is what one server did for the clients in a while.
type block struct {
	samples          []sample
	failed           int
	took             time.Duration
	self             time.Duration // processor time of the server that was asked
	direct           time.Duration // of kube-apiserver
	resident, summit int64         // memory at the end, and at the most
}

// compare measures in the order kube-apiserver, facade, file server, and back, so that whatever drifts while it goes on
// meets all alike. Nothing is timed before the answers were found to be the same.
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
		defer func() { _ = s.files.answers.Remove(set) }() // else all goes at the end
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

// rounds fills the blocks. One block of each before that is the warm-up, except for herds: those who read from
// kube-apiserver would take too long.
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

// block lets the clients of one server ask, and takes the price.
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

// cpu is the processor time so far of a server, and of kube-apiserver.
func (s *stage) cpu(of *server) (self, direct time.Duration, err error) {
	if self, err = of.process.CPU(); err != nil {
		return 0, 0, err
	}
	direct, err = s.direct.process.CPU()
	return self, direct, err
}

// figures are those of all blocks of one server.
func figures(blocks []block) *report.Figures {
	f := new(report.Figures)
	var cpu, took, wall, first []time.Duration
	var resident []int64
	for _, b := range blocks {
		cpu = append(cpu, b.self/time.Duration(len(b.samples)+b.failed)) // an answer that was cut off cost, too
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
	if len(wall) == 0 { // nobody got an answer, for as long as they were asked for
		wall, first = took, took
	}
	f.CPU = report.Spread{Median: median(cpu), Low: quantile(cpu, 0.25), High: quantile(cpu, 0.75)}
	f.P50, f.P99, f.First = median(wall), quantile(wall, 0.99), median(first)
	f.Until, f.Resident = median(took), median(resident)
	return f
}

// idling is the share of a processor that kube-apiserver needs while nobody asks it: during blocks of the file server.
func idling(blocks []block) float64 {
	var shares []float64
	for _, b := range blocks {
		shares = append(shares, float64(b.direct)/float64(b.took))
	}
	return median(shares)
}

// behind is what an answer of the facade costs kube-apiserver, beyond its idling.
func behind(blocks []block, idle float64) time.Duration {
	var all []time.Duration
	for _, b := range blocks {
		extra := b.direct - time.Duration(idle*float64(b.took))
		all = append(all, max(0, extra)/time.Duration(len(b.samples)))
	}
	return median(all)
}
