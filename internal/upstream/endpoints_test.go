package upstream

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestEndpoints: one that refuses connections is left at once, by the request that found it so; that is sent to
// another, its body, too. The other is stayed with.
func TestEndpoints(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	ask(t, client, true)
	if e.inUse() != 0 || one.asked.Load() != 1 {
		t.Fatalf("%+v", e.States())
	}
	one.end()
	client.CloseIdle() // as it would notice a moment later
	if code, _, err := client.Post(t.Context(), "/apis", []byte("question")); code != http.StatusOK || *two.bodies.Load() != "question" {
		t.Fatalf("%d, %v: %q", code, err, *two.bodies.Load())
	}
	ask(t, client, true)
	e.lookAtAll(t.Context())
	if e.inUse() != 1 || two.asked.Load() != 2 || e.States()[0].Ready || client.Silent() != 0 {
		t.Errorf("%+v, %d questions", e.States(), two.asked.Load())
	}
	two.end()
	ask(t, client, false)
	if client.Silent() == 0 {
		t.Error("nothing answers, and that is not noticed")
	}
}

// TestEndpointsOfAnotherCluster are never asked, unless there is nobody else, and not then.
func TestEndpointsOfAnotherCluster(t *testing.T) {
	one, other, two := newScripted(t, "1"), newScripted(t, "2"), newScripted(t, "1")
	e, client := behind(t, one, other, two)
	e.lookAtAll(t.Context())
	one.end()
	ask(t, client, true)
	two.end()
	ask(t, client, false)
	if other.asked.Load() != 0 || two.asked.Load() != 1 || e.States()[1].Ready {
		t.Errorf("%+v, %d questions to another cluster", e.States(), other.asked.Load())
	}
}

// TestEndpointsThatDoNotTell which cluster they lead to are not asked once that is known, however they refuse it. The
// one that is in use is what counts: it is not left for what others say.
func TestEndpointsThatDoNotTell(t *testing.T) {
	for _, code := range []int64{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusForbidden} {
		one, other := newScripted(t, "1"), newScripted(t, "2")
		e, client := behind(t, one, other)
		one.untold.Store(code)
		for range 2 * mostLooks {
			e.lookAtAll(t.Context())
		}
		one.untold.Store(0)
		for range 2 * mostLooks {
			e.lookAtAll(t.Context())
		}
		if ask(t, client, true); e.inUse() != 0 || !e.States()[0].Ready || e.States()[1].Ready {
			t.Fatalf("%d at the start: %+v", code, e.States())
		}
		other.untold.Store(code)
		for range 2 * mostLooks {
			e.lookAtAll(t.Context())
		}
		one.end()
		if ask(t, client, false); other.asked.Load() != 0 || e.States()[1].Ready {
			t.Errorf("%d: another cluster was asked: %+v", code, e.States())
		}
	}
}

// TestEndpointsThatRefuseCredentials do not answer: one that trusts them is asked.
func TestEndpointsThatRefuseCredentials(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	e.lookAtAll(t.Context())
	one.refused.Store(true)
	for range mostLooks {
		e.lookAtAll(t.Context())
	}
	if ask(t, client, true); e.inUse() != 1 || e.States()[0].Ready {
		t.Errorf("%+v", e.States())
	}
}

// A cluster that is made anew at the same addresses is gone on with: lanes find out what that means.
func TestEndpointsOfAClusterMadeAnew(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	e.lookAtAll(t.Context())
	over := e.hang(one, two)
	e.lookAtAll(t.Context())
	anew := "2"
	one.uid.Store(&anew)
	two.uid.Store(&anew)
	over()
	for range 2 * mostLooks {
		e.lookAtAll(t.Context())
	}
	if ask(t, client, true); !e.States()[0].Ready || !e.States()[1].Ready {
		t.Errorf("%+v", e.States())
	}
}

// What is under way at an endpoint that was left ends after a while, though the server goes on with it.
func TestEndpointsThatWereLeft(t *testing.T) {
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
		t.Errorf("%d requests are under way, want the watch", open)
	}
	e.all[0].endWhatIsLeft(time.Now().Add(leftFor), false)
	if _, err := watch.Body.Read(make([]byte, 1)); err == nil {
		t.Error("the watch goes on")
	}
}

// A request that came to a server is not sent to another: nobody knows what became of it.
func TestEndpointsSendOnce(t *testing.T) {
	one, two := newScripted(t, "1"), newScripted(t, "1")
	e, client := behind(t, one, two)
	one.breaks.Store(true)
	ask(t, client, false)
	if two.asked.Load() != 0 || e.inUse() != 0 {
		t.Errorf("%+v, %d questions", e.States(), two.asked.Load())
	}
}

// TestEndpointsThatAreNotReady are left when that was seen twice. What is under way goes on where a server says that it
// ends, and is ended where it says nothing.
func TestEndpointsThatAreNotReady(t *testing.T) {
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
				t.Error("it is left at once")
			}
			e.lookAtAll(t.Context())
			ask(t, client, true)
			if e.inUse() != 1 || two.asked.Load() != 1 {
				t.Errorf("%+v", e.States())
			}
			over()
			e.lookAtAll(t.Context())
			if e.inUse() != 1 || !e.States()[0].Ready {
				t.Errorf("it was gone back: %+v", e.States())
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
					t.Error("the watch goes on")
				}
				cancel()
				if err := <-ended; err == nil {
					t.Error("the watch goes on after its context")
				}
			}
		})
	}
}
