package upstream

import (
	"context"
	"testing"
)

// While a request seeks another endpoint the lock is free. If that request ends before it finds one, the next request
// seeks.
func TestSeekDoesNotHoldTheLock(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	one.end()
	two.hangs.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan error, 1)
	go func() {
		_, err := client.Get(ctx, Target{Path: "/api"}, MediaJSON, 100)
		first <- err
	}()
	select {
	case <-two.hung:
	case err := <-first:
		t.Fatalf("the other endpoint was not checked: %v", err)
	}
	if e.mu.TryLock() {
		e.mu.Unlock()
	} else {
		t.Error("the lock is held during a check")
	}
	two.hangs.Store(false)
	cancel()
	if err := <-first; err == nil {
		t.Error("got a response for a cancelled request")
	}
	ask(t, client, true)
	if e.inUse() != 1 || two.asked.Load() != 1 {
		t.Errorf("got %+v, %d requests", e.States(), two.asked.Load())
	}
}
