package handlers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	allOfThem     = "/api/v1/configmaps"
	streamingList = "/api/v1/configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=60"
	// passedThrough is a form of which the upstream says whether there is one.
	passedThrough = "application/*"
)

// crowd counts who is answered at a time.
type crowd struct {
	mu        sync.Mutex
	now, most int
}

func (c *crowd) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.most = max(c.most, c.now)
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// answer takes a second for the work, and sends size bytes.
func (c *crowd) answer(size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c.enter()
		<-time.After(time.Second)
		c.leave()
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
	}
}

// stream sends initial events for a second, and then goes on for as long as its client listens.
func (c *crowd) stream(w http.ResponseWriter, r *http.Request) {
	c.enter()
	for range 20 {
		_, _ = io.WriteString(w, "event\n")
		_ = http.NewResponseController(w).Flush()
		<-time.After(50 * time.Millisecond)
	}
	c.leave()
	<-r.Context().Done()
}

// ask sends a GET that accepts a media type.
func (f *facade) ask(t *testing.T, target, accept string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := f.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// tryFor reads the whole of a GET that accepts a media type.
func (f *facade) tryFor(t *testing.T, target, accept string) (*http.Response, string, error) {
	t.Helper()
	response := f.ask(t, target, accept)
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// storm asks the same of many clients at once, which read what they are sent, and returns how many got which code. A
// watch has answered when it begins.
func (f *facade) storm(t *testing.T, clients int, target, accept string) map[int]int {
	var mu sync.Mutex
	codes := map[int]int{}
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			response := f.ask(t, target, accept)
			if strings.Contains(target, "watch=1") {
				go func() { _, _ = io.Copy(io.Discard, response.Body) }()
			} else {
				_, _ = io.Copy(io.Discard, response.Body)
			}
			mu.Lock()
			defer mu.Unlock()
			codes[response.StatusCode]++
		})
	}
	wait.Wait()
	return codes
}

// What may have any size is asked of the upstream by few at a time, whatever its form, and the others wait.
func TestLargeForwardsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		target, accept string
		most           int
	}{
		"a list that the cache does not give":  {allOfThem, passedThrough, 8},
		"at a version":                         {allOfThem + "?resourceVersion=1&resourceVersionMatch=Exact", passedThrough, 8},
		"a limit that kube-apiserver ignores":  {allOfThem + "?limit=500&resourceVersion=0", "application/json", 8},
		"a limit that is none":                 {allOfThem + "?limit=100000", passedThrough, 8},
		"a page with a selector at a version":  {allOfThem + "?limit=5&labelSelector=a&continue=x", passedThrough, 8},
		"a streaming list":                     {streamingList, passedThrough, 8},
		"a watch from any state":               {allOfThem + "?watch=1", passedThrough, 8},
		"a page":                               {allOfThem + "?limit=500", passedThrough, 40},
		"a page with a selector":               {allOfThem + "?limit=500&labelSelector=a", passedThrough, 40},
		"an object":                            {allOfThem + "?fieldSelector=metadata.name%3Da", passedThrough, 40},
		"a watch of an object":                 {streamingList + "&fieldSelector=metadata.name%3Da", passedThrough, 40},
		"a watch that begins without an event": {allOfThem + "?watch=1&resourceVersion=7", passedThrough, 40},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				crowd := &crowd{}
				for _, ask := range []testkit.Ask{testkit.AskList, testkit.AskProbe} {
					f.Script(ask, crowd.answer(100))
				}
				for _, ask := range []testkit.Ask{testkit.AskStreaming, testkit.AskWatch} {
					f.Script(ask, crowd.stream)
				}
				if c.accept == "application/json" { // the lane is not to become ready
					f.Script(testkit.AskStreaming, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
					f.Script(testkit.AskProbe, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
				}
				if codes := f.storm(t, 40, c.target, c.accept); codes[http.StatusOK] != 40 {
					t.Errorf("the answers are %v", codes)
				}
				<-time.After(time.Minute) // until every stream was begun
				if crowd.most != c.most {
					t.Errorf("%d were asked at a time, want %d", crowd.most, c.most)
				}
			})
		})
	}
}

// ends tells whether a body could be read to its end.
func ends(response *http.Response) bool {
	_, err := io.Copy(io.Discard, response.Body)
	return err == nil
}

// Eight clients that do not read do not keep the ninth from being answered, whether their answers are small or large.
// This is not in a bubble: its time stands still while a client does not read.
func TestSlowClientsRefuseNobody(t *testing.T) {
	for _, size := range []int{100 << 10, bufferedOfOne + 1<<20} {
		const patience = 5 * time.Minute // of the machine's time: nobody is to be broken off
		f := newFacade(t, func(c *Config) { c.RequestTimeout, c.WriteTimeout = patience, patience })
		f.Script(testkit.AskList, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
		slow := make([]*http.Response, 8)
		for i := range slow {
			slow[i] = f.ask(t, allOfThem, passedThrough)
		}
		for _, response := range append(slow[:1:1], f.ask(t, allOfThem, passedThrough), slow[1]) {
			if response.StatusCode != http.StatusOK || !ends(response) {
				t.Errorf("of %d bytes: %d, or not everything", size, response.StatusCode)
			}
		}
	}
}

// A place is left when everything was read ahead, and else when the client has held the upstream up for a second in
// all.
func TestPlaceIsLeft(t *testing.T) {
	for size, held := range map[int]time.Duration{0: 0, 100 << 10: 0, bufferedOfOne - 300<<10: 0, bufferedOfOne + 1<<20: maxUpstreamWait} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var left atomic.Int64
			left.Store(-1)
			q, err := read(t, configMaps, allOfThem)
			if err != nil {
				t.Fatal(err)
			}
			q.Event, q.method = &observe.Event{}, http.MethodGet
			p := &forwardSeat{
				limiter: newLimiter(t.Context(), time.Minute), q: q, cost: large,
				leave: sync.OnceFunc(func() { left.Store(int64(time.Since(began))) }),
			}
			body := p.read(&http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(make([]byte, size)))})
			<-time.After(maxUpstreamWait - 10*time.Millisecond)
			_, _ = io.ReadFull(body, make([]byte, min(size, 1000)))
			<-time.After(time.Minute)
			if after := time.Duration(left.Load()); after != held {
				t.Errorf("of %d bytes: left after %s, want %s", size, after, held)
			}
			if n, err := io.Copy(io.Discard, body); err != nil || int(n) != size-min(size, 1000) {
				t.Errorf("of %d bytes %d are left: %v", size, n, err)
			}
			_ = body.Close()
			if !p.limiter.buffered.TryAcquire(bufferedOverall) {
				t.Error("memory is counted that is free")
			}
		})
	}
}

// A fast client's list keeps its place to its end, although it is large.
func TestFastClientsKeepTheirPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		crowd := &crowd{}
		f.Script(testkit.AskList, func(w http.ResponseWriter, _ *http.Request) {
			crowd.enter()
			defer crowd.leave()
			for range 3 {
				_, _ = w.Write(make([]byte, bufferedOfOne/2))
				<-time.After(time.Second)
			}
		})
		if codes := f.storm(t, 9, allOfThem, passedThrough); codes[http.StatusOK] != 9 || crowd.most != 8 {
			t.Errorf("%d at a time, the answers are %v", crowd.most, codes)
		}
	})
}

// One resource's storm holds up neither the lists of another nor reads of objects.
func TestStormOfOneResource(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		f.Script(testkit.AskList, hangs)
		f.Script("/api/v1/secrets", (&crowd{}).answer(10))
		f.Script("/api/v1/namespaces/ns/configmaps/a", (&crowd{}).answer(10))
		var wait sync.WaitGroup
		wait.Go(func() {
			codes := f.storm(t, 8+listBounds.Queue+5, allOfThem, passedThrough)
			if want := map[int]int{http.StatusGatewayTimeout: 8, http.StatusTooManyRequests: listBounds.Queue + 5}; fmt.Sprint(codes) != fmt.Sprint(want) {
				t.Errorf("the storm is answered %v", codes)
			}
		})
		synctest.Wait()
		began := time.Now()
		for _, target := range []string{"/api/v1/secrets", "/api/v1/namespaces/ns/configmaps/a"} {
			if response := f.ask(t, target, passedThrough); response.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", target, response.StatusCode)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("two answers of a second took %s", took)
		}
		response, body := f.get(t, "/api/v1/secrets?limit=5")
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s", body)
		}
		wait.Wait()
	})
}

// Who finds no place is told to come back, in kube-apiserver's words, after at most the time that it would queue for
// there; at once when too many wait already.
func TestRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script(testkit.AskList, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var wait sync.WaitGroup
		wait.Go(func() { f.storm(t, 8, allOfThem, passedThrough) })
		synctest.Wait()
		refused := func(target string, after time.Duration) {
			t.Helper()
			began := time.Now()
			response, body, err := f.tryFor(t, target, passedThrough)
			if err != nil || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" ||
				!strings.Contains(body, "storage is (re)initializing") || time.Since(began) != after {
				t.Errorf("after %s: %v %v %q", time.Since(began), err, response, body)
			}
		}
		refused(allOfThem+"?timeout=4s", time.Second)
		wait.Go(func() { refused(allOfThem, 15*time.Second) })
		wait.Go(func() { refused(streamingList, 15*time.Second) })
		wait.Go(func() { f.storm(t, listBounds.Queue-2, allOfThem, passedThrough) })
		synctest.Wait()
		refused(allOfThem, 0)
		wait.Wait()
	})
}

// What is known to be small costs less: how large a resource is tells its last answer.
func TestKnownSizes(t *testing.T) {
	for _, ask := range []string{allOfThem, streamingList} {
		inBubble(t, func(t *testing.T, f *facade) {
			crowd := &crowd{}
			f.Script(testkit.AskList, crowd.answer(1000))
			f.Script(testkit.AskStreaming, crowd.stream)
			f.storm(t, 1, ask, passedThrough)
			<-time.After(time.Minute)
			f.storm(t, 40, ask, passedThrough)
			<-time.After(time.Minute)
			if crowd.most != 40 {
				t.Errorf("%s: %d at a time", ask, crowd.most)
			}
			f.Script(testkit.AskList, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				crowd.answer(unknownSeats*bytesPerSeat/gzipRatio)(w, r)
			})
			f.storm(t, 1, allOfThem, passedThrough)
			crowd.most = 0
			f.storm(t, 9, allOfThem, passedThrough)
			if crowd.most != 8 {
				t.Errorf("of a large resource, %d at a time", crowd.most)
			}
		})
	}
}
