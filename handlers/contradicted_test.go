package handlers

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// differ fills a lane with objects that contain "old", and then has the upstream contain "new" at the same versions.
// The next roll call contradicts the lane. The new list is sent when the returned function is called.
func (f *facade) differ(t *testing.T, objects int) (relist func()) {
	t.Helper()
	for i := range objects {
		f.Put(fmt.Sprintf("ns/%04d", i), "old"+usual)
	}
	f.get(t, reads[0])
	<-time.After(time.Minute)
	f.Rewrite(func(text string) string { return strings.Replace(text, `"old`, `"new`, 1) })
	f.Script(testkit.AskRoll, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"},"items":[]}`, f.RV())
	})
	listed := make(chan struct{})
	f.Script(testkit.AskStreaming, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-listed:
			f.Truth(w, r)
		case <-r.Context().Done():
		}
	})
	relist = sync.OnceFunc(func() { f.Script(testkit.AskRoll, nil); close(listed) })
	t.Cleanup(relist)
	return relist
}

// contradicted is differ, with a lane that a roll call has contradicted.
func (f *facade) contradicted(t *testing.T, objects int) (relist func()) {
	t.Helper()
	relist = f.differ(t, objects)
	if _, body := f.get(t, allOfThem); !isNew(body) || f.Asked(testkit.AskRoll) != 1 {
		t.Fatalf("got %d roll calls and %.200s", f.Asked(testkit.AskRoll), body)
	}
	return relist
}

func isNew(body string) bool {
	return strings.Contains(body, `"new`) && !strings.Contains(body, `"old`)
}

// Until a contradicted lane is listed again, reads at a version that it has are forwarded, not answered by the lane.
// Reads that accept any version are not forwarded.
func TestReadsOfContradictedLaneAreForwarded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		relist := f.contradicted(t, 3)
		began, at := time.Now(), fmt.Sprint("resourceVersion=", f.RV())
		targets := []string{
			allOfThem + "?" + at, allOfThem + "?resourceVersionMatch=NotOlderThan&" + at, allOfThem + "?limit=2&" + at,
			allOfThem + "?resourceVersionMatch=Exact&" + at, "/api/v1/namespaces/ns/configmaps/0001?" + at, allOfThem,
			"/api/v1/namespaces/ns/configmaps/0001",
		}
		for _, target := range targets {
			response, body := f.get(t, target)
			if event := f.events.last(); response.StatusCode != http.StatusOK || !isNew(body) || event.Source != observe.FromUpstream {
				t.Errorf("%s: got %d from %s, want the upstream's answer: %.200s", target, response.StatusCode, event.Source, body)
			}
		}
		for _, target := range []string{reads[0], "/api/v1/namespaces/ns/configmaps/0001?resourceVersion=0"} {
			if _, body := f.get(t, target); isNew(body) || f.events.last().Source != observe.FromCache {
				t.Errorf("%s: got an answer from %s, want the cache", target, f.events.last().Source)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("got answers after %s, want none to wait", took)
		}
		relist()
		<-time.After(time.Minute)
		for _, target := range targets[:3] {
			if _, body := f.get(t, target); !isNew(body) || f.events.last().Source != observe.FromCache {
				t.Errorf("%s: after the new list: got an answer from %s, want the cache", target, f.events.last().Source)
			}
		}
	})
}

// Streaming lists of a contradicted lane wait for its new list. So do lists above the limit of forwarded costly
// answers, including those that shared the contradicting roll call.
func TestCostlyReadsOfContradictedLaneWait(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*facade, *testing.T, int) func()
		at      uint64 // version of half of the reads; 0 for none
		streams []string
	}{
		"contradicted before": {(*facade).contradicted, manyObjects + 2,
			[]string{streamingList, streamingList + "&resourceVersion=502", streamingList + "&resourceVersion=0"}},
		"contradicted by one of these": {(*facade).differ, 0, []string{streamingList}},
	} {
		inBubble(t, func(t *testing.T, f *facade) {
			relist := c.prepare(f, t, manyObjects+1)
			targets := c.streams
			for i := range 80 {
				target := fmt.Sprintf("%s?labelSelector=!a%d", allOfThem, i)
				if c.at > 0 && i%2 == 0 {
					target += fmt.Sprint("&resourceVersion=", c.at)
				}
				targets = append(targets, target)
			}
			f.Script(testkit.AskList, func(w http.ResponseWriter, _ *http.Request) { // shorter than estimated, to save time
				_, _ = fmt.Fprintf(w, `{"kind":"ConfigMapList","items":["new%s"]}`, strings.Repeat(usual, 2))
			})
			before := f.Asked(testkit.AskList)
			const after = 5 * time.Second
			began, waited := time.Now(), atomic.Int64{}
			time.AfterFunc(after, relist)
			var readers sync.WaitGroup
			for _, target := range targets {
				readers.Go(func() {
					response := f.ask(t, target, "application/json")
					took := time.Since(began)
					if took >= after {
						waited.Add(1)
					}
					head := make([]byte, 3000)
					_, err := io.ReadFull(response.Body, head)
					stream := strings.Contains(target, "watch=1")
					if response.StatusCode != http.StatusOK || err != nil || !isNew(string(head)) || took > after+time.Second || stream && took < after {
						t.Errorf("%s: %s: got %d after %s, %v: %.100s", name, target, response.StatusCode, took, err, head)
					}
				})
			}
			readers.Wait()
			forwarded := f.Asked(testkit.AskList) - before
			if forwarded == 0 || forwarded > 60 || int(waited.Load())+forwarded < len(targets) {
				t.Errorf("%s: got %d forwarded and %d that waited, want some forwarded and all others waiting", name, forwarded, waited.Load())
			}
		})
	}
}

// The new list does not have the versions of the contradicted one. So reads at an exact version, and pages with a low
// limit, do not wait for it, even if all costly reads together would exceed the limit of forwarded ones.
func TestPagesOfContradictedLaneDoNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.contradicted(t, manyObjects+1)
		began, token := time.Now(), encodeToken(cache.RV(f.RV()), "ns/0050", "", upstream.CacheStyle)
		for _, query := range []string{
			"limit=50&continue=" + token, "limit=400", fmt.Sprint("resourceVersionMatch=Exact&resourceVersion=", f.RV()),
		} {
			var readers sync.WaitGroup
			for i := range 100 {
				readers.Go(func() {
					target := fmt.Sprintf("%s?fieldSelector=metadata.name!=a%d&%s", allOfThem, i, query)
					if response, body := f.get(t, target); response.StatusCode != http.StatusOK || !isNew(body) {
						t.Errorf("%s: got %d, want the upstream's answer: %.200s", target, response.StatusCode, body)
					}
				})
			}
			readers.Wait()
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("got answers after %s, want none to wait", took)
		}
	})
}

// A read waits for the new list no longer than for a lane that is being filled, and no longer than its own timeout.
func TestWaitForNewListIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.contradicted(t, 3)
		for target, want := range map[string]struct {
			code int
			took time.Duration
		}{
			streamingList: {http.StatusTooManyRequests, fillWait},
			strings.Replace(streamingList, "=60", "=3", 1):                           {http.StatusTooManyRequests, 3 * time.Second},
			strings.Replace(streamingList, "=60", "=3600", 1) + "&resourceVersion=0": {http.StatusTooManyRequests, fillWait},
		} {
			began := time.Now()
			response, body := f.get(t, target)
			took := time.Since(began).Truncate(time.Second)
			if response.StatusCode != want.code || response.Header.Get("Retry-After") == "" || took != want.took {
				t.Errorf("%s: got %d after %s, want %d after %s: %s", target, response.StatusCode, took, want.code, want.took, body)
			}
		}
	})
}

// doubtful is a lane that the test contradicts.
type doubtful struct {
	Lane
	wrong *atomic.Bool
}

// Doubts implements Lane.
func (d doubtful) Doubts(*fresh.Listing) bool { return d.wrong.Load() }

// A read waits for a version. Meanwhile another reader's check contradicts the lane, which then reaches the version.
// The lane does not answer.
func TestContradictionDuringWaitForVersion(t *testing.T) {
	wrong := new(atomic.Bool)
	doubt := func(c *Config) {
		lanes := c.Lanes
		c.Lanes = LanesOf(func(r upstream.Resource, e wire.Encoding) (doubtful, error) {
			lane, err := lanes.Get(r, e)
			return doubtful{lane, wrong}, err
		})
	}
	for _, wait := range []time.Duration{10 * time.Millisecond, 300 * time.Millisecond} {
		for _, match := range []string{"NotOlderThan", "Exact"} {
			t.Run(fmt.Sprint(match, " after ", wait), func(t *testing.T) {
				wrong.Store(false)
				inBubble(t, func(t *testing.T, f *facade) {
					for i := range manyObjects + 1 {
						f.Put(fmt.Sprintf("ns/%04d", i), usual)
					}
					f.get(t, reads[0])
					<-time.After(time.Minute)
					time.AfterFunc(wait, func() { wrong.Store(true); f.Put("ns/0000", "1") })
					response, _ := f.get(t, fmt.Sprintf("%s?resourceVersionMatch=%s&resourceVersion=%d", allOfThem, match, f.RV()+1))
					if event := f.events.last(); response.StatusCode != http.StatusOK || event.Source != observe.FromUpstream {
						t.Errorf("got %d from %s, want the upstream", response.StatusCode, event.Source)
					}
				}, doubt)
			})
		}
	}
}
