package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	authWatches       = 200 // opened in one round
	authWatchesRounds = 3
)

// measureAuthWatches adds the cost of opening a watch of one object, by kind of credentials. With a distinct selector,
// each watch needs its own authorization decision; with the same selector, all watches share one.
func measureAuthWatches(ctx context.Context, s *stage, t *table) error {
	direct, facade, stop, err := s.identities(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for _, distinct := range []bool{true, false} {
		what := "the same selector"
		if distinct {
			what = "a selector each"
		}
		say("opening watches with %s", what)
		costs := map[identity][]time.Duration{}
		for round := range authWatchesRounds + 1 { // the first round is a warm-up
			for _, id := range append(append([]identity{}, direct...), facade...) {
				cost, err := id.openingCost(ctx, round, distinct)
				if err != nil {
					return err
				}
				if round > 0 {
					costs[id] = append(costs[id], cost)
				}
			}
		}
		for i, id := range facade {
			name := fmt.Sprintf("open a watch by %s, %s: server CPU", strings.TrimSpace(id.name), what)
			if i < len(direct) {
				t.addDurations(name, median(costs[direct[i]]), median(costs[id]))
			} else {
				t.add(name, "", report.Duration(median(costs[id])), "")
			}
		}
	}
	return nil
}

// openingCost returns the mean processor time of opening one of authWatches watches.
func (a identity) openingCost(ctx context.Context, round int, distinct bool) (time.Duration, error) {
	q, err := a.server.watchFrom(ctx, "/api/v1/namespaces")
	if err != nil {
		return 0, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	before, err := a.server.process.CPU()
	if err != nil {
		return 0, err
	}
	var opened sync.WaitGroup
	opened.Add(authWatches)
	slots := make(chan struct{}, openers)
	for i := range authWatches {
		one := q
		one.path += "&fieldSelector=metadata.name%3Dbench"
		if distinct {
			one.path += fmt.Sprintf("-%d-%d", round, i)
		}
		slots <- struct{}{}
		done := sync.OnceFunc(func() { <-slots; opened.Done() })
		group.Go(func() error {
			defer done()
			return a.server.hold(watching, one, done)
		})
	}
	opened.Wait()
	after, err := a.server.process.CPU()
	stop()
	return (after - before) / authWatches, errors.Join(err, group.Wait())
}
