package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// blockAtLeast is the minimum duration of a block. A shorter block would be distorted by background work of the server.
const blockAtLeast = 600 * time.Millisecond

// visit is one unit of a client's work: a request, all pages of a list, or a streaming list.
type visit func(ctx context.Context, c caller) (sample, error)

// sample contains the client's measurements of one visit.
type sample struct {
	wall  time.Duration // until the last byte, the client's own work included
	first time.Duration // until the first byte of the first body
	bytes int64         // of all bodies, as sent
}

// drive lets all clients of a server send their requests. In a herd it counts the clients whose responses fail, because
// kube-apiserver aborts a response after one minute. On a slow machine, all of them may fail.
func (t *target) drive(ctx context.Context, l load) (block, error) {
	var b block
	var mu sync.Mutex
	var failure error
	group, ctx := errgroup.WithContext(ctx)
	ready, start := new(sync.WaitGroup), make(chan struct{})
	ready.Add(len(t.callers))
	for _, c := range t.callers {
		group.Go(func() error {
			ready.Done()
			<-start
			for began := time.Now(); ; {
				one, err := t.visit(ctx, c)
				mu.Lock()
				if err == nil {
					b.samples = append(b.samples, one)
				} else {
					b.failed, failure = b.failed+1, err
				}
				mu.Unlock()
				if err != nil && (!l.herd || ctx.Err() != nil) {
					return err
				}
				if l.herd || time.Since(began) >= blockAtLeast {
					return nil
				}
			}
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	err := group.Wait()
	b.took = time.Since(began)
	if err == nil && len(b.samples) == 0 && !t.mayFail {
		err = failure
	}
	if err == nil && b.failed > 0 {
		say("%s: %d of %d responses failed; last error: %v", t.server.name, b.failed, len(t.callers), failure)
	}
	return b, err
}
