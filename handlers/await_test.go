package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// fillsIn lets every listing of the lane take a time.
func (f *facade) fillsIn(took time.Duration) {
	f.Script(testkit.AskStreaming, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(took):
			f.Truth(w, r)
		case <-f.broken:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
		}
	})
}

// wants are the ways to ask for what only a filled lane can answer.
var wants = []string{
	allOfThem, allOfThem + "?resourceVersion=0", allOfThem + "?limit=500&resourceVersion=0", allOfThem + "?labelSelector=a&limit=5&resourceVersion=0", streamingList,
	allOfThem + "?watch=1&timeoutSeconds=60", allOfThem + "?watch=1&resourceVersion=1&timeoutSeconds=60", allOfThem + "?fieldSelector=metadata.name%3Da&resourceVersion=0",
}

// A herd that asks while a lane is being filled is answered within the time of that one listing, and costs the upstream
// nothing else.
func TestHerdWaitsForOneFill(t *testing.T) {
	const took = 9 * time.Second
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range manyObjects {
			f.Put(fmt.Sprintf("ns/%d", i), usual)
		}
		f.fillsIn(took)
		began := time.Now()
		var herd sync.WaitGroup
		for i := range 104 {
			target := wants[i%len(wants)]
			herd.Go(func() {
				if late := time.Duration(i/len(wants)) * took / 13; late > 0 {
					<-time.After(late)
				}
				response := f.ask(t, target, "application/json")
				if response.StatusCode != http.StatusOK || time.Since(began) != took {
					t.Errorf("%s: %d after %s", target, response.StatusCode, time.Since(began))
				}
				_, _ = io.Copy(io.Discard, response.Body)
			})
		}
		<-time.After(took + time.Second)
		synctest.Wait()
		if lists, watches := f.Asked(testkit.AskList), f.Asked(testkit.AskStreaming)+f.Asked(testkit.AskWatch); lists != 0 || watches != 1 {
			t.Errorf("the upstream was asked for %d lists and %d watches, want one streaming list", lists, watches)
			for _, r := range f.Requests(testkit.AskList) {
				t.Log(r.URL, r.Header)
			}
		}
		herd.Wait()
	})
}

// What the upstream answers for little goes there after a second, as before.
func TestCheapReadsWaitShortly(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.fillsIn(9 * time.Second)
		began := time.Now()
		var asking sync.WaitGroup
		for _, target := range []string{
			"/api/v1/namespaces/ns/configmaps/a", allOfThem + "?limit=5", allOfThem + "?limit=5&resourceVersion=2", allOfThem + "?limit=5&resourceVersion=2&resourceVersionMatch=Exact",
		} {
			asking.Go(func() {
				if response, body := f.get(t, target); response.StatusCode != http.StatusOK || time.Since(began) != time.Second {
					t.Errorf("%s: after %s %d %s", target, time.Since(began), response.StatusCode, body)
				}
			})
		}
		asking.Wait()
	})
}

// A refusal has the warnings of its resource, as every answer does: also the first of all, while the upstream is still
// being asked for them.
func TestFirstRefusalHasTheWarnings(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		const deprecated = `299 - "deprecated"`
		f.Script(testkit.AskProbe, func(w http.ResponseWriter, r *http.Request) {
			<-time.After(cheapWait / 2)
			w.Header().Set("Warning", deprecated)
			f.Truth(w, r)
		})
		response, body := f.get(t, allOfThem+"?limit=abc")
		if response.StatusCode != http.StatusBadRequest || response.Header.Get("Warning") != deprecated {
			t.Errorf("%d %q %s", response.StatusCode, response.Header["Warning"], body)
		}
		if source := f.events.last().Source; source != observe.FromCache {
			t.Errorf("answered from %s", source)
		}
	})
}

// A wait ends when the request's time does, its client leaves, the lane fails or the server drains, and at the latest
// after ten seconds, with the time after which it is worth to come back.
func TestWaitsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		target string
		happen func(*facade) // after three seconds
		code   int
		retry  string
		after  time.Duration
	}{
		"the longest wait":   {allOfThem, nil, http.StatusTooManyRequests, "10", 10 * time.Second},
		"a short watch":      {allOfThem + "?watch=1&timeoutSeconds=3", nil, http.StatusTooManyRequests, "3", 3 * time.Second},
		"the request's time": {allOfThem + "?timeout=2s", nil, http.StatusGatewayTimeout, "", 2 * time.Second},
		"a lane that fails":  {allOfThem, func(f *facade) { close(f.broken) }, http.StatusTooManyRequests, "1", 3 * time.Second},
		"the server drains":  {allOfThem, func(f *facade) { f.drain() }, http.StatusServiceUnavailable, "1", 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				f.fillsIn(time.Minute)
				began := time.Now()
				if c.happen != nil {
					time.AfterFunc(3*time.Second, func() { c.happen(f) })
				}
				response, body := f.get(t, c.target)
				if response.StatusCode != c.code || response.Header.Get("Retry-After") != c.retry || time.Since(began) != c.after {
					t.Errorf("after %s: %d, Retry-After %q: %s", time.Since(began), response.StatusCode, response.Header.Get("Retry-After"), body)
				}
			})
		})
	}
}

// Only so many wait for a lane: the next is told to come back, at once. Who leaves makes room.
func TestCrowdIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.fillsIn(5 * time.Second)
		g := &authorizationCheck{lanes: f.lanes, waiting: limit.NewConcurrencyLimit(limit.ConcurrencyBounds{Each: 2, All: 2}), draining: t.Context()}
		lane, err := f.lanes.Get(configMaps, jsonwire.Encoding{})
		if err != nil {
			t.Fatal(err)
		}
		wait := func(ctx context.Context) (took time.Duration, err error) {
			q, malformed := read(t, configMaps, allOfThem)
			if malformed != nil {
				t.Fatal(malformed)
			}
			q.Event = &observe.Event{}
			began := time.Now()
			err = g.await(ctx, q, lane)
			if waited := q.Event.Waits[observe.Syncing]; waited != time.Since(began) {
				t.Errorf("the Event has waited %s", waited)
			}
			return time.Since(began), err
		}
		impatient, leave := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{t.Context(), impatient} {
			go func() { _, _ = wait(ctx) }()
		}
		synctest.Wait()
		<-time.After(time.Second)
		if took, err := wait(t.Context()); statusOf(err).Code != http.StatusTooManyRequests || took != 0 {
			t.Errorf("the third waits %s: %v", took, err)
		}
		leave()
		synctest.Wait()
		if took, err := wait(t.Context()); err != nil || took != 4*time.Second {
			t.Errorf("who came when one had left waits %s: %v", took, err)
		}
	})
}
