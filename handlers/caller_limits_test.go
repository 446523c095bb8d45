package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// named is an authenticator that trusts the user header.
type named struct{}

const userHeader = "X-Test-User"

// Authenticate implements Authenticator.
func (named) Authenticate(r *http.Request) (*auth.Caller, error) {
	return auth.NewCaller(&user.DefaultInfo{Name: r.Header.Get(userHeader)}, auth.ByToken, time.Time{}), nil
}

// within runs a test with a facade that has limits.
func within(t *testing.T, limits Limits, test func(*testing.T, *facade)) {
	t.Helper()
	inBubble(t, test, func(c *Config) { c.Authenticator, c.Limits = named{}, limits })
}

// as sends a GET as a user. The test reads the response.
func (f *facade) as(t *testing.T, name, target string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(userHeader, name)
	request.Header.Set("Authorization", "Bearer x")
	response, err := f.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// status is the path of a subresource, which the upstream serves.
const status = "/api/v1/namespaces/ns/configmaps/a/status"

// assertTooMany fails unless the response is kube-apiserver's 429 with a Retry-After.
func assertTooMany(t *testing.T, response *http.Response) {
	t.Helper()
	body, _ := io.ReadAll(response.Body)
	after, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if response.StatusCode != http.StatusTooManyRequests || err != nil || after < 1 || after > 5 ||
		!strings.Contains(string(body), `"message":"Too many requests, please try again later.","reason":"TooManyRequests","details":{"retryAfterSeconds":`+strconv.Itoa(after)+`}`) {
		t.Errorf("got %d, Retry-After %d (%v): %s", response.StatusCode, after, err, body)
	}
}

// Concurrent requests of one caller are all served, some of them later.
func TestRequestsOfOneCallerWait(t *testing.T) {
	within(t, Limits{Requests: 400, RequestsPerUser: 50}, func(t *testing.T, f *facade) {
		concurrent := &concurrency{}
		f.Script(status, concurrent.answer(10))
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				if response := f.as(t, "alice", status); response.StatusCode != http.StatusOK {
					t.Errorf("got %d", response.StatusCode)
				}
			})
		}
		wait.Wait()
		if concurrent.most != 50 {
			t.Errorf("got %d concurrent requests, want 50", concurrent.most)
		}
	})
}

// Excess requests of one caller are refused after a while, and delay other callers by one turn only. Requests about the
// facade itself do not wait.
func TestFloodOfOneCallerDoesNotDelayOthers(t *testing.T) {
	within(t, Limits{Requests: 4, RequestsPerUser: 4}, func(t *testing.T, f *facade) {
		concurrent := &concurrency{}
		f.Script(status, concurrent.answer(10))
		var wait sync.WaitGroup
		for range 500 {
			wait.Go(func() {
				if response := f.as(t, "flood", status); response.StatusCode != http.StatusOK {
					assertTooMany(t, response)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		for _, path := range []string{"/healthz", "/metrics"} {
			if response := f.as(t, "kubelet", path); response.StatusCode != http.StatusOK || time.Since(began) != 0 {
				t.Errorf("%s: got %d after %s", path, response.StatusCode, time.Since(began))
			}
		}
		if response := f.as(t, "alice", status); response.StatusCode != http.StatusOK || time.Since(began) > 2*time.Second {
			t.Errorf("got %d after %s", response.StatusCode, time.Since(began))
		}
		wait.Wait()
		if took := time.Since(began); took > 16*time.Second || concurrent.most != 4 {
			t.Errorf("got %d concurrent requests, and the last response after %s", concurrent.most, took)
		}
		if response := f.as(t, "flood", status); response.StatusCode != http.StatusOK {
			t.Errorf("got %d after the flood", response.StatusCode)
		}
	})
}

func TestWatchesPerCallerAreBounded(t *testing.T) {
	within(t, Limits{Watches: 5, WatchesPerUser: 3}, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		_ = f.as(t, "alice", reads[0])
		const target = "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=60"
		open := func(name string) {
			t.Helper()
			if response := f.as(t, name, target); response.StatusCode != http.StatusOK {
				t.Errorf("%s: got %d", name, response.StatusCode)
			}
		}
		for range 3 {
			open("alice")
		}
		assertTooMany(t, f.as(t, "alice", target))
		open("bob")
		open("bob")
		assertTooMany(t, f.as(t, "bob", target))
		if response := f.as(t, "alice", reads[0]); response.StatusCode != http.StatusOK {
			t.Errorf("a list: got %d", response.StatusCode)
		}
		<-time.After(2 * time.Minute)
		open("alice")
	})
}

func TestWatchRatePerCallerIsBounded(t *testing.T) {
	within(t, Limits{WatchRate: 100, WatchRatePerUser: 2}, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		_ = f.as(t, "alice", reads[0])
		const target = "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=-1"
		for range 20 {
			if response := f.as(t, "alice", target); response.StatusCode != http.StatusOK {
				t.Fatalf("got %d", response.StatusCode)
			}
		}
		assertTooMany(t, f.as(t, "alice", target))
		if response := f.as(t, "bob", target); response.StatusCode != http.StatusOK {
			t.Errorf("another one: got %d", response.StatusCode)
		}
		<-time.After(time.Second / 2)
		if response := f.as(t, "alice", target); response.StatusCode != http.StatusOK {
			t.Errorf("after half a second: got %d", response.StatusCode)
		}
	})
}

// Lists of one caller wait for each other if they are large together. Initial events count until they are sent.
func TestListBytesPerCallerAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLimiter(t.Context(), time.Minute)
		l.shares = newShares(Limits{ListBytes: 16 << 20})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		charge := func(name string, bytes int64) (func(), error) {
			caller := auth.NewCaller(&user.DefaultInfo{Name: name}, auth.ByToken, time.Time{})
			return l.charge(ctx, &reply{}, &Request{Caller: caller, Event: &observe.Event{}, arrived: time.Now()}, bytes)
		}
		leave, err := charge("alice", 3<<20)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := charge("bob", 1<<40); err != nil || time.Since(began) != 0 {
			t.Errorf("another caller: got %v after %s", err, time.Since(began))
		}
		if _, err := charge("alice", 1000); !apierrors.IsTooManyRequests(err) || time.Since(began) != 15*time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		time.AfterFunc(time.Second, leave)
		if _, err := charge("alice", 1000); err != nil || time.Since(began) != 16*time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
	within(t, Limits{ListBytes: 1}, func(t *testing.T, f *facade) { // one list at a time
		f.Put("ns/a", usual)
		for range 3 {
			began := time.Now()
			response := f.as(t, "alice", reads[0])
			if _, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("got %d: %v", response.StatusCode, err)
			}
			response = f.as(t, "alice", "/api/v1/configmaps?watch=1&resourceVersion=0")
			if _, err := response.Body.Read(make([]byte, 10)); err != nil || time.Since(began) != 0 {
				t.Errorf("got %d after %s: %v", response.StatusCode, time.Since(began), err)
			}
			synctest.Wait()
		}
	})
}

// A list is charged for the bytes that it may send: for a page up to its limit, for a selection those in its index.
func TestAnswerBytes(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range 200 {
			f.Put("ns/"+strconv.Itoa(i), usual)
		}
		f.Put("other/a", usual)
		f.get(t, reads[0])
		lane, err := f.lanes.Get(configMaps, jsonwire.Encoding{})
		if err != nil {
			t.Fatal(err)
		}
		for target, objects := range map[string]int64{
			"/api/v1/configmaps": 201, "/api/v1/configmaps?limit=10": 10, "/api/v1/namespaces/other/configmaps": 1, "/api/v1/configmaps?limit=500": 201,
			"/api/v1/namespaces/ns/configmaps?fieldSelector=metadata.name%3D7": 1, "/api/v1/configmaps?labelSelector=a": 201,
		} {
			q, err := read(t, configMaps, target)
			if err != nil {
				t.Fatal(err)
			}
			p, _, err := planList(q)
			if err != nil {
				t.Fatal(err)
			}
			if bytes := answerBytes(q, lane, p); bytes < objects*2<<10 || bytes > objects*3<<10 {
				t.Errorf("%s: got %d bytes of %d objects", target, bytes, objects)
			}
		}
	})
}

func TestZeroLimitsMeanUnlimited(t *testing.T) {
	s := newShares(Limits{})
	if s.requests != nil || s.bytes != nil {
		t.Error("got seats, want none")
	}
	for range 10_000 {
		if _, ok := s.begins.Take("a"); !ok {
			t.Fatal("got a rate, want none")
		}
		if _, err := s.watches.Enter(limit.Alone("a"), func() {}); errors.Is(err, limit.ErrBusy) {
			t.Fatal("got a bound, want none")
		}
	}
}

// A watch that is forwarded after all no longer takes list bytes, however long it lasts.
func TestForwardedWatchesTakeNoListBytes(t *testing.T) {
	within(t, Limits{ListBytes: 1}, func(t *testing.T, f *facade) {
		f.Put("ns/a", usual)
		_, _ = io.Copy(io.Discard, f.as(t, "alice", reads[0]).Body) // fill the lane
		for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskRoll, testkit.AskProgressWatch} {
			f.Script(ask, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // virtual time: the last freshness check is old
		f.Script(testkit.AskStreaming, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{}\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		before := len(f.Requests(testkit.AskStreaming))
		if code := f.as(t, "alice", streamingList).StatusCode; code != http.StatusOK {
			t.Fatalf("a watch: got %d", code)
		}
		if n := len(f.Requests(testkit.AskStreaming)) - before; n != 1 {
			t.Fatalf("got %d watches of the upstream, want one", n)
		}
		began := time.Now()
		if code := f.as(t, "alice", "/api/v1/configmaps?resourceVersion=0").StatusCode; code != http.StatusOK || time.Since(began) > time.Second {
			t.Errorf("a list at the same time: got %d after %s", code, time.Since(began))
		}
	})
}
