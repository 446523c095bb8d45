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
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

const (
	allOfThem     = "/api/v1/configmaps"
	streamingList = "/api/v1/configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=60"
	// passedThrough is a media type that only the upstream negotiates.
	passedThrough = "application/*"
)

// concurrency counts concurrent requests to the upstream.
type concurrency struct {
	mu        sync.Mutex
	now, most int
}

func (c *concurrency) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.most = max(c.most, c.now)
}

func (c *concurrency) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// answer works for a second, and sends size bytes.
func (c *concurrency) answer(size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c.enter()
		<-time.After(time.Second)
		c.leave()
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
	}
}

// stream sends initial events for a second, and then stays open until its client leaves.
func (c *concurrency) stream(w http.ResponseWriter, r *http.Request) {
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

// tryFor reads the complete response to a GET that accepts a media type.
func (f *facade) tryFor(t *testing.T, target, accept string) (*http.Response, string, error) {
	t.Helper()
	response := f.ask(t, target, accept)
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// storm sends the same request from many clients that read the response, and returns the number of responses by code. A
// watch counts when its response begins.
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

// Few forwarded requests with responses of any size are sent at a time, whatever their media type. The others wait.
func TestLargeForwardsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		target, accept string
		most           int
	}{
		"a list in a media type that the cache does not offer": {allOfThem, passedThrough, 8},
		"at a version":                         {allOfThem + "?resourceVersion=1&resourceVersionMatch=Exact", passedThrough, 8},
		"a limit that kube-apiserver ignores":  {allOfThem + "?limit=500&resourceVersion=0", "application/json", 8},
		"a limit that is too high":             {allOfThem + "?limit=100000", passedThrough, 8},
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
				concurrent := &concurrency{}
				for _, ask := range []testkit.Ask{testkit.AskList, testkit.AskProbe} {
					f.Script(ask, concurrent.answer(100))
				}
				for _, ask := range []testkit.Ask{testkit.AskStreaming, testkit.AskWatch} {
					f.Script(ask, concurrent.stream)
				}
				if c.accept == "application/json" { // the lane must not become ready
					f.Script(testkit.AskStreaming, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
					f.Script(testkit.AskProbe, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
				}
				if codes := f.storm(t, 40, c.target, c.accept); codes[http.StatusOK] != 40 {
					t.Errorf("got responses %v", codes)
				}
				<-time.After(time.Minute) // until every stream has begun
				if concurrent.most != c.most {
					t.Errorf("got %d concurrent requests, want %d", concurrent.most, c.most)
				}
			})
		})
	}
}

// ends reports whether a body could be read to its end.
func ends(response *http.Response) bool {
	_, err := io.Copy(io.Discard, response.Body)
	return err == nil
}

// Eight clients that do not read do not block the ninth, whether their responses are small or large. The test uses real
// time, because virtual time stops while a client does not read.
func TestSlowClientsDoNotBlockOthers(t *testing.T) {
	for _, size := range []int{100 << 10, bufferedOfOne + 1<<20} {
		const patience = 5 * time.Minute // real time: no response may break off
		f := newFacade(t, func(c *Config) { c.RequestTimeout, c.WriteTimeout = patience, patience })
		f.Script(testkit.AskList, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
		slow := make([]*http.Response, 8)
		for i := range slow {
			slow[i] = f.ask(t, allOfThem, passedThrough)
		}
		for _, response := range append(slow[:1:1], f.ask(t, allOfThem, passedThrough), slow[1]) {
			if response.StatusCode != http.StatusOK || !ends(response) {
				t.Errorf("%d bytes: got %d, or an incomplete response", size, response.StatusCode)
			}
		}
	}
}

// A seat is released when the complete response was read ahead. Otherwise it is released when the client has made the
// upstream wait for a second in total.
func TestForwardSeatIsReleased(t *testing.T) {
	for size, held := range map[int]time.Duration{0: 0, 100 << 10: 0, bufferedOfOne - 300<<10: 0, bufferedOfOne + 1<<20: maxUpstreamWait} {
		bubble.Test(t, func(t *testing.T) {
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
				t.Errorf("%d bytes: got the seat released after %s, want %s", size, after, held)
			}
			if n, err := io.Copy(io.Discard, body); err != nil || int(n) != size-min(size, 1000) {
				t.Errorf("%d bytes: got %d remaining bytes: %v", size, n, err)
			}
			_ = body.Close()
			if !p.limiter.buffered.TryAcquire(bufferedOverall) {
				t.Error("got memory that was not released")
			}
		})
	}
}

// A large list keeps its seat to its end if its client is fast.
func TestFastClientsKeepTheirSeat(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		concurrent := &concurrency{}
		f.Script(testkit.AskList, func(w http.ResponseWriter, _ *http.Request) {
			concurrent.enter()
			defer concurrent.leave()
			for range 3 {
				_, _ = w.Write(make([]byte, bufferedOfOne/2))
				<-time.After(time.Second)
			}
		})
		if codes := f.storm(t, 9, allOfThem, passedThrough); codes[http.StatusOK] != 9 || concurrent.most != 8 {
			t.Errorf("got %d concurrent requests and responses %v", concurrent.most, codes)
		}
	})
}

// A storm for one resource delays neither lists of another resource nor reads of objects.
func TestStormOfOneResourceDoesNotDelayOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		f.Script(testkit.AskList, hangs)
		f.Script("/api/v1/secrets", (&concurrency{}).answer(10))
		f.Script("/api/v1/namespaces/ns/configmaps/a", (&concurrency{}).answer(10))
		var wait sync.WaitGroup
		wait.Go(func() {
			codes := f.storm(t, 8+listBounds.Queue+5, allOfThem, passedThrough)
			if want := map[int]int{http.StatusGatewayTimeout: 8, http.StatusTooManyRequests: listBounds.Queue + 5}; fmt.Sprint(codes) != fmt.Sprint(want) {
				t.Errorf("got responses %v to the storm", codes)
			}
		})
		synctest.Wait()
		began := time.Now()
		for _, target := range []string{"/api/v1/secrets", "/api/v1/namespaces/ns/configmaps/a"} {
			if response := f.ask(t, target, passedThrough); response.StatusCode != http.StatusOK {
				t.Errorf("%s: got %d", target, response.StatusCode)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("got two responses of a second after %s", took)
		}
		response, body := f.get(t, "/api/v1/secrets?limit=5")
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s", body)
		}
		wait.Wait()
	})
}

// A request without a seat is refused with kube-apiserver's message, after at most the time that kube-apiserver would
// queue it. It is refused immediately if too many requests wait already.
func TestRequestsWithoutSeatAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script(testkit.AskList, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var wait sync.WaitGroup
		wait.Go(func() { f.storm(t, 8, allOfThem, passedThrough) })
		synctest.Wait()
		refused := func(target string, after time.Duration) {
			t.Helper()
			began := time.Now()
			response, body, err := f.tryFor(t, target, passedThrough)
			if err != nil || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" ||
				!strings.Contains(body, `"Too many requests, please try again later."`) || time.Since(began) != after {
				t.Errorf("got after %s: %v %v %q", time.Since(began), err, response, body)
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

// A resource whose last response was small takes fewer seats.
func TestSmallResourcesTakeFewerSeats(t *testing.T) {
	for _, ask := range []string{allOfThem, streamingList} {
		inBubble(t, func(t *testing.T, f *facade) {
			concurrent := &concurrency{}
			f.Script(testkit.AskList, concurrent.answer(1000))
			f.Script(testkit.AskStreaming, concurrent.stream)
			f.storm(t, 1, ask, passedThrough)
			<-time.After(time.Minute)
			f.storm(t, 40, ask, passedThrough)
			<-time.After(time.Minute)
			if concurrent.most != 40 {
				t.Errorf("%s: got %d concurrent requests, want 40", ask, concurrent.most)
			}
			f.Script(testkit.AskList, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				concurrent.answer(unknownSeats*bytesPerSeat/gzipRatio)(w, r)
			})
			f.storm(t, 1, allOfThem, passedThrough)
			concurrent.most = 0
			f.storm(t, 9, allOfThem, passedThrough)
			if concurrent.most != 8 {
				t.Errorf("got %d concurrent lists of a large resource, want 8", concurrent.most)
			}
		})
	}
}
