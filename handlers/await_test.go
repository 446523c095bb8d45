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

// fillsIn delays every list of the lane.
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

// wants are reads that only a filled lane can serve.
var wants = []string{
	allOfThem, allOfThem + "?resourceVersion=0", allOfThem + "?limit=500&resourceVersion=0", allOfThem + "?labelSelector=a&limit=5&resourceVersion=0", streamingList,
	allOfThem + "?watch=1&timeoutSeconds=60", allOfThem + "?watch=1&resourceVersion=1&timeoutSeconds=60", allOfThem + "?fieldSelector=metadata.name%3Da&resourceVersion=0",
}

// Concurrent reads that arrive while a lane is filled wait for that single list, and cause no other request.
func TestConcurrentReadsWaitForOneFill(t *testing.T) {
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
					t.Errorf("%s: got %d after %s", target, response.StatusCode, time.Since(began))
				}
				_, _ = io.Copy(io.Discard, response.Body)
			})
		}
		<-time.After(took + time.Second)
		synctest.Wait()
		if lists, watches := f.Asked(testkit.AskList), f.Asked(testkit.AskStreaming)+f.Asked(testkit.AskWatch); lists != 0 || watches != 1 {
			t.Errorf("got %d lists and %d watches of the upstream, want one streaming list", lists, watches)
			for _, r := range f.Requests(testkit.AskList) {
				t.Log(r.URL, r.Header)
			}
		}
		herd.Wait()
	})
}

// Reads that cost the upstream little are forwarded after a second.
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
					t.Errorf("%s: got after %s: %d %s", target, time.Since(began), response.StatusCode, body)
				}
			})
		}
		asking.Wait()
	})
}

// A refusal has the warnings of its resource, like every response. That includes the first one, while the upstream has
// not sent the warnings yet.
func TestFirstRefusalHasWarnings(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		const deprecated = `299 - "deprecated"`
		f.Script(testkit.AskProbe, func(w http.ResponseWriter, r *http.Request) {
			<-time.After(cheapWait / 2)
			w.Header().Set("Warning", deprecated)
			f.Truth(w, r)
		})
		response, body := f.get(t, allOfThem+"?limit=abc")
		if response.StatusCode != http.StatusBadRequest || response.Header.Get("Warning") != deprecated {
			t.Errorf("got %d, warnings %q: %s", response.StatusCode, response.Header["Warning"], body)
		}
		if source := f.events.last().Source; source != observe.FromCache {
			t.Errorf("got a response from %s, want it from the cache", source)
		}
	})
}

// A wait ends when the request times out, its client leaves, the lane fails or the server drains. It ends after ten
// seconds at the latest, with a useful Retry-After.
func TestWaitsForLanesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		target string
		happen func(*facade) // after three seconds
		code   int
		retry  string
		after  time.Duration
	}{
		"the longest wait":      {allOfThem, nil, http.StatusTooManyRequests, "10", 10 * time.Second},
		"a short watch":         {allOfThem + "?watch=1&timeoutSeconds=3", nil, http.StatusTooManyRequests, "3", 3 * time.Second},
		"the request's timeout": {allOfThem + "?timeout=2s", nil, http.StatusGatewayTimeout, "", 2 * time.Second},
		"a lane that fails":     {allOfThem, func(f *facade) { close(f.broken) }, http.StatusTooManyRequests, "1", 3 * time.Second},
		"the server drains":     {allOfThem, func(f *facade) { f.drain() }, http.StatusServiceUnavailable, "1", 3 * time.Second},
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

// Only a limited number of requests wait for a lane. The next one is refused immediately. A request that leaves makes
// room for another.
func TestWaitersForLaneAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.fillsIn(5 * time.Second)
		g := &authorizationCheck{lanes: LanesOf(f.lanes.Get), waiting: limit.NewConcurrencyLimit(limit.ConcurrencyBounds{Each: 2, All: 2}), draining: t.Context()}
		lane, err := f.lanes.Get(configMaps, jsonwire.Encoding{})
		if err != nil {
			t.Fatal(err)
		}
		wait := func(ctx context.Context) (took time.Duration, err error) {
			q, malformed := read(t, configMaps, allOfThem)
			if malformed != nil {
				t.Fatal(malformed)
			}
			q.Event, q.media = &observe.Event{}, media{encoding: jsonwire.Encoding{}}
			began := time.Now()
			err = g.await(ctx, q, lane)
			if waited := q.Event.Waits[observe.Syncing]; waited != time.Since(began) {
				t.Errorf("got a wait of %s in the Event, want the time of the call", waited)
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
			t.Errorf("got a wait of %s and %v for the third request, want an immediate 429", took, err)
		}
		leave()
		synctest.Wait()
		if took, err := wait(t.Context()); err != nil || took != 4*time.Second {
			t.Errorf("got a wait of %s and %v after another request had left, want 4s", took, err)
		}
	})
}
