package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// measureFacadeRestart kills the facade of many informers, and starts another facade at its address. Meanwhile a pod of
// each informer changes. Each informer selects the pods of one node. measureFacadeRestart adds the informers' requests
// after the restart, and the cost of these requests.
func measureFacadeRestart(ctx context.Context, s *stage, t *table) error {
	s.process.stop() // the facade of the other scenarios would be one more client
	took, err := s.killFacade(ctx)
	if err != nil {
		return err
	}
	t.add(fmt.Sprintf("lists of %d informers after the restart", restartInformers), "", fmt.Sprint(took.lists), "")
	t.add("watches that the informers opened again", "", fmt.Sprint(took.watches), "")
	t.addDurations("time until all informers have received a change", 0, took.took)
	t.addDurations("CPU of kube-apiserver from the start of the facade until all informers have received a change", 0, took.direct)
	t.addDurations("CPU of the facade", 0, took.facade)
	return s.restartFacade(ctx)
}

// killFacade starts informers of a separate facade, replaces the facade and measures the recovery.
func (s *stage) killFacade(ctx context.Context) (took returned, err error) {
	port, err := freePort()
	if err != nil {
		return took, err
	}
	first, err := s.withoutWatchLimits(ctx, "--secure-port", port)
	if err != nil {
		return took, err
	}
	r := &returning{stage: s, server: first.server}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	pods, err := r.onePodOfEach(ctx, restartInformers)
	if err == nil {
		say("starting %d informers", restartInformers)
		err = r.attend(watching, restartInformers)
	}
	if err == nil {
		err = r.change(ctx, pods, restartInformers)
	}
	if err != nil {
		first.stop()
		return took, err
	}
	r.lists.Store(0)
	r.watches.Store(0)
	_ = first.process.Process.Kill()
	_ = first.process.Wait() // its exit status is not measured
	if err := r.write(ctx, pods); err != nil {
		return took, err
	}
	return r.replace(ctx, port, pods)
}

// replace starts another facade at the address of a killed one, and measures until all informers have received a
// further change.
func (r *returning) replace(ctx context.Context, port string, pods []string) (took returned, err error) {
	before, err := r.stage.direct.process.CPU()
	if err != nil {
		return took, err
	}
	second, err := r.stage.withoutWatchLimits(ctx, "--secure-port", port)
	if err != nil {
		return took, err
	}
	defer second.stop()
	began := time.Now()
	if err := r.change(ctx, pods, restartInformers); err != nil {
		return took, err
	}
	took.took, took.lists, took.watches = time.Since(began), r.lists.Load(), r.watches.Load()
	after, err := r.stage.direct.process.CPU()
	if err != nil {
		return took, err
	}
	took.direct = after - before
	took.facade, err = cpuOf(second.server)
	return took, err
}

// write stamps all pods concurrently.
func (r *returning) write(ctx context.Context, pods []string) error {
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(patchers)
	for _, pod := range pods {
		group.Go(func() error { return stamp(writing, r.stage.direct, pod) })
	}
	return group.Wait()
}
