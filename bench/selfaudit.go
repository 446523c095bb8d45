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
	// auditInterval is shorter than any pass, so passes follow each other without a pause.
	auditInterval = time.Minute
	// auditSettled is the time for a facade to pack the objects that it has read. auditIdle is the duration of the
	// measurement without a self-audit.
	auditSettled = time.Minute
	auditIdle    = time.Minute
	// auditPoll is the interval at which the facade's metrics are polled. The cost of polling is part of the idle
	// measurement, too.
	auditPoll = 2 * time.Second
	// auditWithin is the timeout of a pass. After each page, the self-audit pauses for 20 times the duration of the
	// comparison.
	auditWithin = 20 * time.Minute
)

// auditPrice is the processor time of both servers over an interval.
type auditPrice struct{ took, direct, facade time.Duration }

// measureSelfAudit adds the cost for both servers of comparing all pods once, in each encoding.
func measureSelfAudit(ctx context.Context, s *stage, t *table) error {
	s.process.stop() // the self-audit of this facade would run, too
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

// beyond returns the processor time over an interval, without the idle load.
func beyond(cpu, took, idle, idleTook time.Duration) time.Duration {
	return cpu - time.Duration(float64(idle)*float64(took)/float64(idleTook))
}

// audited returns the cost of one complete pass after the first one. With an interval of 0 it returns the idle cost.
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

// both returns the processor times so far of kube-apiserver and of a facade.
func (s *stage) both(f *facade) (direct, facade time.Duration, err error) {
	if direct, err = s.direct.process.CPU(); err == nil {
		facade, err = f.server.process.CPU()
	}
	return direct, facade, err
}

// passes matches the metric that counts passes over all pods.
var passes = regexp.MustCompile(`(?m)^listfacade_self_audit_passes_total\{.*resource="pods".*\} (\d+)$`)

// awaitPasses waits until enough reports true for the number of passes over all pods.
func (f *facade) awaitPasses(ctx context.Context, enough func(passes int) bool) error {
	ctx, cancel := context.WithTimeout(ctx, auditWithin)
	defer cancel()
	tick := time.NewTicker(auditPoll)
	defer tick.Stop()
	for {
		answer, err := f.server.read(ctx,
			question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity", protocol: http2})
		if err != nil {
			return err
		}
		n := 0
		if found := passes.FindSubmatch(answer.body); found != nil { // the metric exists from the second scrape on
			n, err = strconv.Atoi(string(found[1]))
		}
		if err != nil || enough(n) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: wait for the self-audit of pods: %w", f.server.name, context.Cause(ctx))
		}
	}
}
