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
	authWatches       = 200 // that are opened at a time
	authWatchesRounds = 3
)

// measureAuthWatches adds what it costs to open a watch of an object, by how the caller is proven: each watch with a
// selector of its own, which is another question to the authorizer, and all with the same.
func measureAuthWatches(ctx context.Context, s *stage, t *table) error {
	direct, facade, stop, err := s.askers(ctx)
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
		costs := map[asker][]time.Duration{}
		for round := range authWatchesRounds + 1 { // the first warms up
			for _, who := range append(append([]asker{}, direct...), facade...) {
				cost, err := who.openingCost(ctx, round, distinct)
				if err != nil {
					return err
				}
				if round > 0 {
					costs[who] = append(costs[who], cost)
				}
			}
		}
		for i, who := range facade {
			name := fmt.Sprintf("open a watch by %s, %s: server CPU", strings.TrimSpace(who.name), what)
			if i < len(direct) {
				t.addDurations(name, median(costs[direct[i]]), median(costs[who]))
			} else {
				t.add(name, "", report.Duration(median(costs[who])), "")
			}
		}
	}
	return nil
}

// openingCost is the processor time of opening one of many watches.
func (a asker) openingCost(ctx context.Context, round int, distinct bool) (time.Duration, error) {
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
	turn := make(chan struct{}, openers)
	for i := range authWatches {
		one := q
		one.path += "&fieldSelector=metadata.name%3Dbench"
		if distinct {
			one.path += fmt.Sprintf("-%d-%d", round, i)
		}
		turn <- struct{}{}
		done := sync.OnceFunc(func() { <-turn; opened.Done() })
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
