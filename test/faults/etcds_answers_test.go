package faults

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// answers compares every kind of read, with versions of this etcd and of the other. A future version takes three
// seconds, so all requests run concurrently, and watches last longer than that.
func (a *separateEtcds) answers(t *testing.T) {
	of := map[schema.GroupVersionResource]uint64{}
	for _, gvr := range a.resources() {
		of[gvr] = a.next(t, gvr)
	}
	var group, bulk errgroup.Group
	bulk.SetLimit(6) // the facade forwards at most eight unlimited lists at the same time
	for gvr, elsewhere := range map[schema.GroupVersionResource]schema.GroupVersionResource{leases: suite.ConfigMaps, suite.ConfigMaps: leases, suite.Events: suite.Accounts} {
		queries := []string{"", "?limit=2", "?resourceVersion=0", "?resourceVersion=0&limit=1", "/mine", "/mine?resourceVersion=0"}
		for _, rv := range []uint64{of[gvr], of[elsewhere]} {
			at := fmt.Sprintf("?resourceVersion=%d", rv)
			queries = append(queries, at, at+"&limit=1", at+"&resourceVersionMatch=Exact", at+"&resourceVersionMatch=NotOlderThan&limit=1", "/mine"+at)
			if gvr != suite.Events { // these get a random retryAfterSeconds
				queries = append(queries,
					at+"&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=5")
			}
		}
		for _, query := range queries {
			q := testkit.Question{Path: suite.Collection(gvr, a.Namespace) + query}
			if strings.Contains(query, "limit") || strings.Contains(query, "mine") {
				group.Go(func() error { return a.asks(t, q) })
			} else {
				bulk.Go(func() error { return a.asks(t, q) })
			}
		}
	}
	if err := errors.Join(group.Wait(), bulk.Wait()); err != nil {
		t.Error(err)
	}
}

// asks compares one answer.
func (a *separateEtcds) asks(t *testing.T, q testkit.Question) (err error) {
	t.Helper()
	var diff string
	if q.Watches() {
		diff, err = a.oracle.StreamDifference(t.Context(), q)
	} else {
		_, diff = a.oracle.Difference(t, q)
	}
	if diff != "" {
		err = fmt.Errorf("%s\n%s", q, diff)
	}
	return err
}

// cacheAnswers waits until consistent lists of each resource come from the cache. The facade first has to find out
// which resources share an etcd. Events have no bookmarks, but an event may bring the lane up to date. There are
// several readers, because a single read is forwarded if that costs no more than a freshness check.
func (a *separateEtcds) cacheAnswers(t *testing.T) {
	for _, gvr := range a.resources() {
		testkit.Eventually(t, gvr.Resource+" are served from the cache", func() error {
			answered := a.oracle.Answered(t, "cache")
			rv := a.next(t, gvr)
			var readers sync.WaitGroup
			for range 8 {
				readers.Go(func() { a.shows(t, suite.Collection(gvr, a.Namespace)+"?labelSelector=mine", rv) })
			}
			readers.Wait()
			if a.oracle.Answered(t, "cache") == answered {
				return fmt.Errorf("the list was forwarded")
			}
			return nil
		})
	}
}
