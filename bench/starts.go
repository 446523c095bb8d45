package main

import (
	"context"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// startCost is the cost of a server's start, with all pods in memory.
type startCost struct {
	took, cpu time.Duration
	behind    time.Duration // processor time of kube-apiserver while the facade read from it
}

// started returns the cost of a start that has just finished.
func (s *server) started(took time.Duration) (startCost, error) {
	cpu, err := s.process.CPU()
	return startCost{took: took, cpu: cpu}, err
}

// measureStarts adds the cost of both starts, and the memory before the first request.
func measureStarts(ctx context.Context, s *stage, t *table) error {
	direct, facade := s.directStart, s.facadeStart
	t.addDurations("start to ready, all pods cached: time", direct.took, facade.took)
	t.addDurations("start to ready, all pods cached: server CPU", direct.cpu, facade.cpu)
	t.add("CPU of kube-apiserver while the facade reads all pods from it", "", report.Duration(facade.behind), "")
	directResident, facadeResident, err := settledBoth(ctx, s)
	t.addBytes("resident memory, all pods cached, before the first request", directResident, facadeResident)
	return err
}
