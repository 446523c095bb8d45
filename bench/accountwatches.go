package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	// renewals is the number of changed leases per second, as with 5,000 nodes.
	renewals = 500
	// accountFor is the duration of a measurement, and accountReads the interval of reads in it.
	accountFor   = 20 * time.Second
	accountReads = 500 * time.Millisecond
)

// accountCost is the result of one measurement: the processor time of each server per changed lease, and the durations
// of the reads.
type accountCost struct {
	rate           float64 // changed leases per second
	direct, facade time.Duration
	reads          []time.Duration
}

// measureAccounts adds the CPU cost of account watches (--account-watches) while leases change, and the durations of
// reads of a first page of all pods. The facade opens the watches for these reads.
func measureAccounts(ctx context.Context, s *stage, t *table) error {
	client, err := writer(ctx, s.cluster)
	if err != nil {
		return err
	}
	leaseClient := client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1",
		Resource: "leases"}).Namespace(freshNamespace)
	if err := createLeases(ctx, leaseClient); err != nil {
		return err
	}
	costs := map[string][]accountCost{}
	const none, on, off = "no reads", "on", "off"
	for _, way := range []string{none, on, off, off, on, none} {
		var c accountCost
		var err error
		if way == none {
			c, err = s.renewing(ctx, leaseClient, nil)
		} else {
			c, err = s.renewingWith(ctx, leaseClient, "--account-watches="+fmt.Sprint(way == on))
		}
		if err != nil {
			return err
		}
		say("account watches %s: %.0f leases/s, kube-apiserver %s, facade %s", way, c.rate, report.Duration(c.direct),
			report.Duration(c.facade))
		costs[way] = append(costs[way], c)
	}
	for _, way := range []string{none, on, off} {
		for _, c := range costs[way] {
			name := fmt.Sprintf("account watches %s, %.0f leases/s", way, c.rate)
			t.add(name+": server CPU for a lease", report.Duration(c.direct), report.Duration(c.facade), "")
			t.addTimes(name+": a first page of all pods every 0.5 s", nil, c.reads)
		}
	}
	return nil
}

// renewingWith starts a facade with an additional flag, and measures it with renewing.
func (s *stage) renewingWith(ctx context.Context, client dynamic.ResourceInterface, flag string) (accountCost, error) {
	f, err := s.withoutWatchLimits(ctx, flag)
	if err != nil {
		return accountCost{}, err
	}
	defer f.stop()
	return s.renewing(ctx, client, f.server)
}

// renewing changes leases, and reads from a facade unless facade is nil. A warm-up with the same work, for a quarter of
// the time, precedes the measurement.
func (s *stage) renewing(ctx context.Context, client dynamic.ResourceInterface,
	facade *server) (c accountCost, err error) {
	for _, lasts := range []time.Duration{accountFor / 4, accountFor} {
		of := s.direct
		if facade != nil {
			of = facade
		}
		self, direct, err := s.cpu(of)
		if err != nil {
			return c, err
		}
		began := time.Now()
		var renewed int
		if renewed, c.reads, err = renewAndRead(ctx, client, facade, lasts); err != nil {
			return c, err
		}
		c.rate = float64(renewed) / time.Since(began).Seconds()
		selfAfter, directAfter, err := s.cpu(of)
		if err != nil {
			return c, err
		}
		c.direct, c.facade = (directAfter-direct)/time.Duration(renewed), (selfAfter-self)/time.Duration(renewed)
	}
	if facade == nil {
		c.facade = 0
	}
	return c, nil
}

// renewAndRead changes leases for a time while a client reads from the facade. It returns the number of changes and the
// durations of the reads.
func renewAndRead(ctx context.Context, client dynamic.ResourceInterface, facade *server,
	lasts time.Duration) (renewed int, reads []time.Duration, err error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	readers, reading := errgroup.WithContext(reading)
	if facade != nil {
		q := question{name: "first page", path: "/api/v1/pods?limit=500", encoding: "gzip", protocol: http2}
		readers.Go(func() error {
			return every(reading, accountReads, func(int) error {
				began := time.Now()
				_, err := facade.read(reading, q)
				reads = append(reads, time.Since(began))
				return err
			})
		})
	}
	writers, writing := errgroup.WithContext(ctx)
	writers.SetLimit(patchers)
	tick := time.NewTicker(time.Second / renewals)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < lasts && writing.Err() == nil; renewed++ {
		select {
		case <-tick.C:
		case <-writing.Done():
		}
		i := renewed % leases
		writers.Go(func() error { return renew(writing, client, i) })
	}
	err = writers.Wait()
	stop()
	return renewed, reads, errors.Join(err, readers.Wait())
}
