package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	// auditInterval is shorter than any pass takes, so that one follows the other.
	auditInterval = time.Minute
	// auditSettled is how long a facade may take to pack what it has read, and auditIdle how long it is looked what both
	// servers take when nothing is compared.
	auditSettled = time.Minute
	auditIdle    = time.Minute
	// auditPoll is how often a facade is asked how far it is; the price of that is in what they take when idle, too.
	auditPoll = 2 * time.Second
	// auditWithin is when a pass must be over; the pauses after its pages are 20 times as long as the pages took.
	auditWithin = 20 * time.Minute
)

// auditPrice is what both servers took for some time.
type auditPrice struct{ took, direct, facade time.Duration }

// measureSelfAudit adds what it costs both servers that all pods are compared once, in each encoding.
func measureSelfAudit(ctx context.Context, s *stage, t *table) error {
	s.process.stop() // which compares, too
	for _, encoding := range []string{"json", "protobuf"} {
		idle, err := s.audited(ctx, encoding, 0)
		if err != nil {
			return err
		}
		pass, err := s.audited(ctx, encoding, auditInterval)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%d pods compared once, %s", s.options.pods.Pods, encoding)
		t.add(name+": CPU", report.Duration(beyond(pass.direct, pass.took, idle.direct, idle.took)),
			report.Duration(beyond(pass.facade, pass.took, idle.facade, idle.took)), "")
		t.add(name+": time", "", report.Duration(pass.took), "")
	}
	return s.restartFacade(ctx)
}

// beyond is what was taken in some time beyond what is taken when idle.
func beyond(cpu, took, idle, idleTook time.Duration) time.Duration {
	return cpu - time.Duration(float64(idle)*float64(took)/float64(idleTook))
}

// audited is the price of a whole pass that is not the first, or, without an interval, of doing nothing.
func (s *stage) audited(ctx context.Context, encoding string, interval time.Duration) (price auditPrice, err error) {
	f, err := s.withoutWatchLimits(ctx, "--preload-encodings", encoding, "--self-audit-interval", interval.String())
	if err != nil {
		return price, err
	}
	defer f.stop()
	after := func(wait time.Duration) func(int) bool {
		end := time.Now().Add(wait)
		return func(int) bool { return time.Now().After(end) }
	}
	passed := func(times int) func(int) bool { return func(passes int) bool { return passes >= times } }
	first, second := after(auditSettled), after(auditSettled+auditIdle)
	if interval > 0 {
		first, second = passed(1), passed(2)
	}
	if err := f.awaitPasses(ctx, first); err != nil {
		return price, err
	}
	began := time.Now()
	direct, facade, err := s.both(f)
	if err != nil {
		return price, err
	}
	if err := f.awaitPasses(ctx, second); err != nil {
		return price, err
	}
	price.took = time.Since(began)
	price.direct, price.facade, err = s.both(f)
	price.direct, price.facade = price.direct-direct, price.facade-facade
	return price, err
}

// both are the processor times of kube-apiserver and of a facade.
func (s *stage) both(f *facade) (direct, facade time.Duration, err error) {
	if direct, err = s.direct.process.CPU(); err == nil {
		facade, err = f.server.process.CPU()
	}
	return direct, facade, err
}

// passes counts how often all pods were compared.
var passes = regexp.MustCompile(`(?m)^listfacade_self_audit_passes_total\{.*resource="pods".*\} (\d+)$`)

// awaitPasses waits until the facade has compared all pods as often as is enough.
func (f *facade) awaitPasses(ctx context.Context, enough func(passes int) bool) error {
	ctx, cancel := context.WithTimeout(ctx, auditWithin)
	defer cancel()
	tick := time.NewTicker(auditPoll)
	defer tick.Stop()
	for {
		answer, err := f.server.read(ctx, question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity", protocol: http2})
		if err != nil {
			return err
		}
		n := 0
		if found := passes.FindSubmatch(answer.body); found != nil { // it is there from the second scrape on
			n, err = strconv.Atoi(string(found[1]))
		}
		if err != nil || enough(n) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: compare pods: %w", f.server.name, context.Cause(ctx))
		}
	}
}
