package upstream

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An endpoint that refuses connections is left immediately. The request that found it so is sent to another endpoint
// with its body. Later requests use that endpoint.
func TestEndpointThatRefusesConnectionsIsLeft(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	ask(t, client, true)
	if e.inUse() != 0 || one.asked.Load() != 1 {
		t.Fatalf("got %+v", e.States())
	}
	one.end()
	client.CloseIdle() // as its transport would notice a moment later
	if code, _, err := client.Post(t.Context(), "/apis", []byte("question")); code != http.StatusOK || *two.bodies.Load() != "question" {
		t.Fatalf("%d, %v: %q", code, err, *two.bodies.Load())
	}
	ask(t, client, true)
	e.lookAtAll(t.Context())
	if e.inUse() != 1 || two.asked.Load() != 2 || e.States()[0].Ready || client.Silent() != 0 {
		t.Errorf("got %+v, %d requests", e.States(), two.asked.Load())
	}
	two.end()
	ask(t, client, false)
	if client.Silent() == 0 {
		t.Error("got a response while no server runs")
	}
}

// Endpoints of another cluster are never used, even if no other endpoint answers.
func TestEndpointsOfAnotherClusterAreNotUsed(t *testing.T) {
	one, other, two := newScripted(t, "1"), newScripted(t, "2"), newScripted(t, "1")
	e, client := behind(t, one, other, two)
	e.lookAtAll(t.Context())
	one.end()
	ask(t, client, true)
	two.end()
	ask(t, client, false)
	if other.asked.Load() != 0 || two.asked.Load() != 1 || e.States()[1].Ready {
		t.Errorf("got %+v, %d requests to another cluster", e.States(), other.asked.Load())
	}
}

// Endpoints that do not report their cluster are not used after the cluster is known, however they refuse. The endpoint
// in use decides which cluster it is, whatever the others report.
func TestEndpointsWithoutClusterUIDAreNotUsed(t *testing.T) {
	for _, code := range []int64{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusForbidden} {
		one, other := newScripted(t, "1"), newScripted(t, "2")
		e, client := behind(t, one, other)
		one.refusesUID.Store(code)
		for range 2 * mostLooks {
			e.lookAtAll(t.Context())
		}
		one.refusesUID.Store(0)
		for range 2 * mostLooks {
			e.lookAtAll(t.Context())
		}
		if ask(t, client, true); e.inUse() != 0 || !e.States()[0].Ready || e.States()[1].Ready {
			t.Fatalf("%d at the start: %+v", code, e.States())
		}
		other.refusesUID.Store(code)
		for range 2 * mostLooks {
			e.lookAtAll(t.Context())
		}
		one.end()
		if ask(t, client, false); other.asked.Load() != 0 || e.States()[1].Ready {
			t.Errorf("%d: requests went to another cluster: %+v", code, e.States())
		}
	}
}

// An endpoint that refuses the credentials counts as one that does not answer. An endpoint that accepts them is used
// instead.
func TestEndpointsThatRefuseCredentialsAreLeft(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	e.lookAtAll(t.Context())
	one.refused.Store(true)
	for range mostLooks {
		e.lookAtAll(t.Context())
	}
	if ask(t, client, true); e.inUse() != 1 || e.States()[0].Ready {
		t.Errorf("got %+v", e.States())
	}
}

// A cluster that is recreated at the same addresses is used; lanes detect the change themselves.
func TestEndpointsOfARecreatedClusterAreUsed(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	e.lookAtAll(t.Context())
	over := e.hang(one, two)
	e.lookAtAll(t.Context())
	recreated := "2"
	one.uid.Store(&recreated)
	two.uid.Store(&recreated)
	over()
	for range 2 * mostLooks {
		e.lookAtAll(t.Context())
	}
	if ask(t, client, true); !e.States()[0].Ready || !e.States()[1].Ready {
		t.Errorf("got %+v", e.States())
	}
}

// Requests in progress at an endpoint that was left end after leftFor, even if the server continues.
func TestRequestsAtALeftEndpointEnd(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	e.lookAtAll(t.Context())
	watch, err := client.Open(t.Context(), Target{Path: "/api", Query: map[string][]string{"watch": {"1"}}}, MediaJSON)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	one.unready.Store(true)
	for range mostLooks {
		e.lookAtAll(t.Context())
	}
	e.all[0].endWhatIsLeft(time.Now().Add(leftFor-time.Second), false)
	e.all[0].mu.Lock()
	open := len(e.all[0].open)
	e.all[0].mu.Unlock()
	if open != 1 {
		t.Errorf("got %d requests in progress, want the watch only", open)
	}
	e.all[0].endWhatIsLeft(time.Now().Add(leftFor), false)
	if _, err := watch.Body.Read(make([]byte, 1)); err == nil {
		t.Error("the watch did not end")
	}
}

// A request that reached a server is not sent to another, because its effect is unknown.
func TestRequestThatReachedAServerIsNotRetried(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	one.breaks.Store(true)
	ask(t, client, false)
	if two.asked.Load() != 0 || e.inUse() != 0 {
		t.Errorf("got %+v, %d requests", e.States(), two.asked.Load())
	}
}

// An endpoint that is not ready is left after two checks. A watch there continues if the server will end it, and is
// cancelled if the server hangs.
func TestEndpointsThatAreNotReadyAreLeft(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(*Endpoints, *scripted) (over func())
		ends bool
	}{
		"not ready": {func(_ *Endpoints, s *scripted) func() {
			s.unready.Store(true)
			return func() { s.unready.Store(false) }
		}, false},
		"hangs": {func(e *Endpoints, s *scripted) func() { return e.hang(s) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := newScripted(t, "1"), newScripted(t, "1")
			e, client := behind(t, one, two)
			e.lookAtAll(t.Context())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			watch, err := client.Open(ctx, Target{Path: "/api", Query: map[string][]string{"watch": {"1"}}}, MediaJSON)
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Body.Close()
			over := c.fail(e, one)
			e.lookAtAll(t.Context())
			if e.inUse() != 0 {
				t.Error("left the endpoint after one check, want two")
			}
			e.lookAtAll(t.Context())
			ask(t, client, true)
			if e.inUse() != 1 || two.asked.Load() != 1 {
				t.Errorf("got %+v", e.States())
			}
			over()
			e.lookAtAll(t.Context())
			if e.inUse() != 1 || !e.States()[0].Ready {
				t.Errorf("returned to the first endpoint: %+v", e.States())
			}
			ended := make(chan error, 1)
			go func() { _, err := watch.Body.Read(make([]byte, 1)); ended <- err }()
			select {
			case err := <-ended:
				if !c.ends || !strings.Contains(fmt.Sprint(err), "cancel") && !strings.Contains(fmt.Sprint(err), "does not answer") {
					t.Errorf("the watch has ended: %v", err)
				}
			case <-time.After(map[bool]time.Duration{true: time.Minute, false: 50 * time.Millisecond}[c.ends]):
				if c.ends {
					t.Error("the watch did not end")
				}
				cancel()
				if err := <-ended; err == nil {
					t.Error("the watch did not end with its context")
				}
			}
		})
	}
}
