package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/dataset"
	"github.com/listfacade/listfacade/bench/internal/proc"
	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	// soakEvery is the interval between changes of pods, through kube-apiserver.
	soakEvery = 20 * time.Millisecond
	// soakNodes is the number of nodes whose pods change. soakNamespaces is the number of namespaces with informers.
	soakNodes      = 20
	soakNamespaces = 3
	// soakWatches is the maximum number of watches on the facade.
	soakWatches = 1500
	// soakLists is the interval of lists of all pods, of a node, of a page and of a namespace.
	soakLists = 5 * time.Second
)

// soak is a facade under all kinds of load while pods change.
type soak struct {
	*stage
	pods      []string       // paths of the pods that change
	near, far *subscriptions // events of the watches on the facade, and on kube-apiserver
	informers []*namespaceInformer
	lists     atomic.Int64
	mu        sync.Mutex // guards failures
	failures  []error
}

// measureSoak adds to the table the processor time of both servers during a soak, their memory at its end, and the
// delays of watch events.
func measureSoak(ctx context.Context, s *stage, t *table) error {
	f, err := s.withoutWatchLimits(ctx)
	if err != nil {
		return err
	}
	defer f.stop()
	own := *s
	own.facade = f.server
	k := &soak{stage: &own, near: newSubscriptions(), far: newSubscriptions()}
	for i := range soakNodes {
		of, err := names(ctx, s.direct, nodeOf(s.options.pods, i))
		if err != nil {
			return err
		}
		k.pods = append(k.pods, of...)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	if err := k.attend(watching, group); err != nil {
		return errors.Join(err, group.Wait())
	}
	before, err := k.spent()
	if err != nil {
		return err
	}
	say("soaking for %s with %d pods that change", s.options.soak, len(k.pods))
	began := time.Now()
	sent, err := k.work(watching)
	took := time.Since(began)
	after, spentErr := k.spent()
	if err = errors.Join(err, spentErr); err == nil {
		err = k.arrived(watching, sent)
	}
	if err == nil {
		err = k.informed(watching)
	}
	var memory []account
	var heap live
	if err == nil {
		memory, err = k.facade.accounts(watching)
	}
	if err == nil {
		heap, err = k.facade.collect(watching)
	}
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	pages, err := k.samePages(ctx)
	if err != nil {
		return err
	}
	k.add(t, after.minus(before), took, sent)
	t.add("live heap of the facade after the soak and a garbage collection", "", report.Size(heap.heap), "")
	t.add("largest parts of the facade's memory after the collection, by its own account", "", largest(memory), "")
	t.add("lists compared after the soak, page by page: pages with another content", "", fmt.Sprintf("0 of %d", pages), "")
	return nil
}

func nodeOf(pods dataset.Spec, i int) string {
	return "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3D" + pods.Node(i)
}

// work changes pods and lists for the duration of the soak, and returns the number of changes.
func (k *soak) work(ctx context.Context) (sent int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	listing, done := context.WithCancel(ctx)
	group.Go(func() error {
		defer done()
		var err error
		sent, err = patch(ctx, k.direct, k.pods, eventRate{eventsFor: k.options.soak, eventEvery: soakEvery})
		return err
	})
	for _, path := range []string{
		"/api/v1/pods?resourceVersion=0", "/api/v1/pods?limit=500", nodePath(k.options.pods),
		"/api/v1/namespaces/" + k.options.pods.Namespace(7) + "/pods?resourceVersion=0",
	} {
		group.Go(func() error { return k.list(listing, question{path: path, encoding: "gzip", protocol: http2}) })
	}
	return sent, group.Wait()
}

// list repeats a question until the context ends, and records failures.
func (k *soak) list(ctx context.Context, q question) error {
	callers, err := k.facade.callers(ctx, 1, q.protocol)
	if err != nil {
		return err
	}
	defer dismiss(callers)
	tick := time.NewTicker(soakLists)
	defer tick.Stop()
	for {
		_, _, err := callers[0].fetch(ctx, q, io.Discard)
		if ctx.Err() != nil {
			return nil
		}
		k.lists.Add(1)
		if err != nil {
			k.mu.Lock()
			k.failures = append(k.failures, err)
			k.mu.Unlock()
			say("soak: %v", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// arrived waits until the watches of both servers have received all events.
func (k *soak) arrived(ctx context.Context, sent int) error {
	return errors.Join(k.near.await(ctx, sent), k.far.await(ctx, sent))
}

// spending is the processor time of both servers so far, and their memory.
type spending struct {
	direct, facade             time.Duration
	directMemory, facadeMemory proc.Memory
}

func (s *stage) spent() (all spending, err error) {
	if all.facade, all.direct, err = s.cpu(s.facade); err != nil {
		return all, err
	}
	if all.directMemory, err = s.direct.process.Memory(); err != nil {
		return all, err
	}
	all.facadeMemory, err = s.facade.process.Memory()
	return all, err
}

// minus subtracts the processor time of an earlier reading; memory is not changed.
func (s spending) minus(before spending) spending {
	s.direct, s.facade = s.direct-before.direct, s.facade-before.facade
	return s
}

func (k *soak) add(t *table, spent spending, took time.Duration, sent int) {
	name := fmt.Sprintf("soak of %s, %d changes, %d watches: ", took.Round(time.Second), sent, k.watched())
	t.add(name+"processor time, of kube-apiserver with the writes", report.Duration(spent.direct),
		report.Duration(spent.facade), "")
	t.addBytes(name+"resident memory at the end", spent.directMemory.Resident, spent.facadeMemory.Resident)
	t.addBytes(name+"resident memory, peak since the start", spent.directMemory.Peak, spent.facadeMemory.Peak)
	t.addTimes(name+"UPDATE sent until a watch of the node has the event", k.far.last(), k.near.last())
	t.add(name+"lists that failed", "", fmt.Sprintf("%d of %d", len(k.failures), k.lists.Load()), "")
}
