package upstream

import (
	"context"
	"testing"
)

// While a request looks for another endpoint nobody waits for its lock; and when it is over before it has found one,
// the next looks for itself.
func TestEndpointsWhileOneIsSought(t *testing.T) {
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
		t.Fatalf("the other endpoint was not asked: %v", err)
	}
	if e.mu.TryLock() {
		e.mu.Unlock()
	} else {
		t.Error("the lock is held while an endpoint is asked")
	}
	two.hangs.Store(false)
	cancel()
	if err := <-first; err == nil {
		t.Error("a request that was over has an answer")
	}
	ask(t, client, true)
	if e.inUse() != 1 || two.asked.Load() != 1 {
		t.Errorf("%+v, %d questions", e.States(), two.asked.Load())
	}
}
