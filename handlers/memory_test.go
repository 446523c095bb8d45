package handlers

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/budget"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
)

// withMemory runs a test with a facade that has the given number of bytes for responses and watches.
func withMemory(t *testing.T, bytes int64, used *atomic.Int64, test func(*testing.T, *facade)) {
	t.Helper()
	memory := budget.New(budget.Options{
		Limit: bytes, RefuseAbove: 1, Runtime: func() budget.Runtime { return budget.Runtime{} }, Collect: func() {},
		Accounts: []budget.Account{{Name: "lanes", Bytes: used.Load}},
	})
	inBubble(t, test, func(c *Config) { c.Authenticator, c.Memory = named{}, memory })
}

// listOf lists all objects of an older State, which needs no freshness check.
const listOf = allOfThem + "?resourceVersion=0"

// If memory is short, large lists and watches are refused like in kube-apiserver, and small reads are served.
func TestLargeAnswersTakeMemory(t *testing.T) {
	var used atomic.Int64
	withMemory(t, 100<<20, &used, func(t *testing.T, f *facade) {
		large := strings.Repeat("x", largeAnswer)
		for i := range 3 {
			f.Put(fmt.Sprintf("ns/%d", i), large)
		}
		serves := func(target string) {
			t.Helper()
			response := f.as(t, "alice", target)
			if _, err := io.Copy(io.Discard, response.Body); response.StatusCode != http.StatusOK || err != nil {
				t.Errorf("%s: got %d %v", target, response.StatusCode, err)
			}
		}
		watch := fmt.Sprintf("%s?watch=1&resourceVersion=%d&timeoutSeconds=1", allOfThem, f.RV())
		for _, target := range []string{listOf, watch} {
			serves(target)
		}
		used.Store(100<<20 - answerMemory/2)
		<-time.After(time.Minute)
		assertTooMany(t, f.as(t, "alice", listOf))
		serves("/api/v1/namespaces/ns/configmaps/1?resourceVersion=0")
		serves("/api/v1/namespaces/empty/configmaps?resourceVersion=0")
		serves(watch) // the remaining memory is enough for one watch
		used.Store(100 << 20)
		<-time.After(time.Minute)
		assertTooMany(t, f.as(t, "alice", watch))
		serves("/api/v1/namespaces/ns/configmaps/1?resourceVersion=0")
		used.Store(0)
		<-time.After(time.Minute)
		for _, target := range []string{listOf, watch} {
			serves(target)
		}
	})
}

// Memory of a response or a watch is released at its end.
func TestMemoryIsReleased(t *testing.T) {
	var used atomic.Int64
	withMemory(t, answerMemory+watchMemory, &used, func(t *testing.T, f *facade) {
		f.Put("ns/a", strings.Repeat("x", largeAnswer))
		for range 5 {
			for _, target := range []string{listOf, streamingList} {
				response := f.as(t, "alice", target)
				if _, err := io.Copy(io.Discard, response.Body); response.StatusCode != http.StatusOK || err != nil {
					t.Fatalf("%s: got %d %v", target, response.StatusCode, err)
				}
			}
		}
	})
}

// A resource that does not fit into memory is treated like one that is not cached yet. Cheap reads are forwarded, and
// others are refused.
func TestResourceThatDoesNotFitIntoMemory(t *testing.T) {
	full := budget.New(budget.Options{
		Limit: 1, Runtime: func() budget.Runtime { return budget.Runtime{Live: 2} }, Collect: func() {}, RefuseAbove: 100, FillAbove: 1,
	})
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range 10 {
			f.Put(fmt.Sprintf("ns/%d", i), strings.Repeat("x", 200<<10))
		}
		for range 3 {
			response := f.as(t, "alice", listOf)
			body, _ := io.ReadAll(response.Body)
			if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" ||
				!strings.Contains(string(body), "storage is (re)initializing: there is no memory for this resource") {
				t.Errorf("got %d %v: %.300s", response.StatusCode, response.Header, body)
			}
		}
		for _, target := range []string{"/api/v1/namespaces/ns/configmaps/1", allOfThem + "?limit=1"} {
			response := f.as(t, "alice", target)
			_, _ = io.Copy(io.Discard, response.Body)
			if e := f.events.last(); response.StatusCode != http.StatusOK || e.Source != observe.FromUpstream || e.Reason != observe.NoMemory {
				t.Errorf("%s: got %d from %s, because of %s", target, response.StatusCode, e.Source, e.Reason)
			}
		}
		if asked := f.Asked(testkit.AskStreaming); asked != 1 {
			t.Errorf("got %d streaming lists of the lane, want one", asked)
		}
	}, func(c *Config) { c.Authenticator, c.Memory = named{}, full })
}
