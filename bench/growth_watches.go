package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/bench/internal/simulated"
)

// growthWatches is the number of open watches, 100 on each connection.
const growthWatches = 10_000

// Changes while watches are open. growthOne changes one pod after the other, each with one watch. growthAll changes a
// single pod, which all watches select.
var (
	growthOne = simulated.Updates{Count: 3000, Every: 5 * time.Millisecond, Among: growthWatches}
	growthAll = simulated.Updates{Count: 5, Every: 3 * time.Second, Among: 1}
)

// watches opens watches and changes pods.
func (g *growing) watches(ctx context.Context) error {
	one, err := g.watch(ctx, "one pod each", growthOne, 1)
	if err != nil {
		return err
	}
	all, err := g.watch(ctx, "the same pod", growthAll, growthWatches)
	if err != nil {
		return err
	}
	g.Watches = []report.GrownWatches{one, all}
	return nil
}

// watch opens watches of the pods that change. Each change is an event of the given number of watches.
func (g *growing) watch(ctx context.Context, title string, updates simulated.Updates,
	receivers int) (result report.GrownWatches, err error) {
	result = report.GrownWatches{Title: fmt.Sprintf("%d watches of %s", growthWatches, title), Watches: growthWatches,
		Changes: updates.Count}
	received := newSubscriptions()
	m := manyWatches{watches: growthWatches, protocol: http2, streams: 100, openers: openers, read: received.read}
	before, err := g.facade.usage(ctx)
	if err != nil {
		return result, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	measure := func() error {
		q, err := g.facade.watchFrom(watching, "/api/v1/pods")
		if err != nil {
			return err
		}
		if _, err = m.open(watching, group, g.facade, watchesOf(q, g.changing(updates))); err != nil {
			return err
		}
		open, err := g.facade.usage(watching)
		if err != nil {
			return err
		}
		each := open.minus(before).over(growthWatches)
		result.Live, result.Resident = each.live, each.resident
		result.CPU, err = g.change(watching, received, updates, receivers)
		return err
	}
	err = measure()
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return result, err
	}
	delays := received.last()
	result.P50, result.P99 = median(delays), quantile(delays, 0.99)
	say("%d pods: %s: %s, p99 %s, CPU %s a change; %s each", g.Objects, result.Title, report.Duration(result.P50),
		report.Duration(result.P99),
		report.Duration(result.CPU), report.Size(result.Live))
	return result, nil
}

// changing returns the paths of the pods that change.
func (g *growing) changing(updates simulated.Updates) []string {
	paths := make([]string, updates.Among)
	for n := range paths {
		namespace, name := g.pods.Name(updates.Pod(n, g.Objects))
		paths[n] = "/api/v1/namespaces/" + namespace + "/pods/" + name
	}
	return paths
}

// change changes pods, waits until all events have arrived, and returns the facade's processor time for a change.
func (g *growing) change(ctx context.Context, received *subscriptions, updates simulated.Updates,
	receivers int) (time.Duration, error) {
	before, err := g.facade.process.CPU()
	if err != nil {
		return 0, err
	}
	if err := g.upstream.update(ctx, updates); err != nil {
		return 0, err
	}
	if err := received.await(ctx, updates.Count*receivers); err != nil {
		return 0, err
	}
	after, err := g.facade.process.CPU()
	return (after - before) / time.Duration(updates.Count), err
}
