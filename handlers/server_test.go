package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
)

// reads has one read of each kind: they differ for the authorizer and for the upstream.
var reads = []string{
	"/api/v1/configmaps?resourceVersion=0", "/api/v1/namespaces/ns/configmaps?resourceVersion=0", "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0",
	"/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=1", "/api/v1/configmaps", "/api/v1/configmaps?limit=1&resourceVersion=2&resourceVersionMatch=NotOlderThan",
	"/api/v1/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=0",
}

func TestReadsComeFromTheCache(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		for _, key := range []string{"ns/a", "ns/b", "ns/c"} { // fewer objects would be forwarded as cheaper
			f.Put(key, usual)
		}
		for _, target := range reads {
			response, body := f.get(t, target)
			if response.StatusCode != http.StatusOK || !strings.Contains(body, `"name":"a"`) {
				t.Errorf("%s: got %d %s", target, response.StatusCode, body)
			}
			if response.Header.Get("Audit-Id") == "" || response.Header.Get("Cache-Control") != "no-cache, private" {
				t.Errorf("%s: got %v", target, response.Header)
			}
		}
		if n := f.Asked(testkit.AskList) + f.Asked(testkit.AskWatch) + f.Asked("/api/v1/namespaces/ns/configmaps/a"); n != 0 {
			t.Errorf("got %d forwarded reads", n)
		}
	})
}

// Before the authorizer has allowed exactly this read, no lane is started or read. A denied caller gets the upstream's
// own response, and cannot learn anything from its content or timing.
func TestNothingIsReadBeforeAuthorization(t *testing.T) {
	refusal := testkit.Refuse(http.StatusForbidden, "Forbidden")
	denials := map[string]Authorizer{
		"denied":            denier{err: &auth.DeniedError{}},
		"unavailable":       denier{err: &auth.UnavailableError{Err: errors.New("down")}},
		"an empty grant":    denier{},
		"another's grant":   otherGrant{},
		"a grant and error": denier{err: errors.New("a bug")},
	}
	for name, authorizer := range denials {
		for _, warm := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lane running: %t", name, warm), func(t *testing.T) {
				inBubble(t, func(t *testing.T, f *facade) {
					f.Put("ns/a", "1")
					if warm {
						f.get(t, reads[0])
						synctest.Wait()
					}
					lanes, probes := len(f.lanes.All()), f.Asked(testkit.AskProbe)
					f.deny = authorizer
					for _, ask := range []testkit.Ask{
						testkit.AskList, testkit.AskWatch, testkit.AskProbe, testkit.AskStreaming, testkit.AskProgressWatch,
						"/api/v1/namespaces/ns/configmaps/a",
					} {
						f.Script(ask, refusal)
					}
					for _, target := range reads {
						response, body := f.get(t, target)
						if response.StatusCode != http.StatusForbidden || body != testkit.StatusText(403, "Forbidden")+"\n" {
							t.Errorf("%s: got %d %s", target, response.StatusCode, body)
						}
					}
					if got := len(f.lanes.All()); got != lanes {
						t.Errorf("got %d lanes, want %d as before", got, lanes)
					}
					// The only probe is the read by name, which was forwarded.
					if got := f.Asked(testkit.AskProbe) - probes; got != 1 {
						t.Errorf("got %d probes, want one", got)
					}
				})
			})
		}
	}
}

// denier returns decisions that cover nothing.
type denier struct {
	authenticated
	err error
}

// Authorize implements Authorizer.
func (d denier) Authorize(context.Context, auth.Attributes) (auth.Decision, error) {
	return auth.Decision{}, d.err
}

// allower allows every request that needs no review.
type allower struct{ authenticated }

// Authorize implements Authorizer.
func (allower) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
	return auth.NewSelf(nil, 0).Authorize(ctx, a)
}

// otherGrant returns a real decision for another namespace.
type otherGrant struct{ authenticated }

// Authorize implements Authorizer.
func (otherGrant) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
	a.Namespace += "x"
	return auth.NewSelf(reviewer(func() (int, []byte, error) {
		return http.StatusCreated, []byte(`{"kind":"SubjectAccessReview","status":{"allowed":true}}`), nil
	}), 0).Authorize(ctx, a)
}

// Each read is authorized with its own attributes.
func TestEachReadIsAuthorized(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		f.allow = func(a auth.Attributes) bool { return a.Verb == "list" && a.Namespace == "ns" }
		f.Script(testkit.AskList, testkit.Refuse(http.StatusForbidden, "Forbidden"))
		if response, _ := f.get(t, "/api/v1/namespaces/ns/configmaps?resourceVersion=0"); response.StatusCode != http.StatusOK {
			t.Errorf("an allowed read: got %d", response.StatusCode)
		}
		for _, target := range []string{
			"/api/v1/configmaps?resourceVersion=0", "/api/v1/namespaces/other/configmaps?resourceVersion=0",
			"/api/v1/configmaps?resourceVersion=0&fieldSelector=metadata.namespace%3Dns",
		} {
			if response, _ := f.get(t, target); response.StatusCode != http.StatusForbidden {
				t.Errorf("%s: got %d", target, response.StatusCode)
			}
		}
	})
}

// A panic affects one client only. The client gets a 500 if nothing was sent yet, and otherwise a broken connection.
func TestPanicBecomes500(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.allow = func(auth.Attributes) bool { panic("a bug") }
		response, body := f.get(t, reads[0])
		if response.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `"reason":"InternalError"`) || strings.Contains(body, "a bug") {
			t.Errorf("got %d %s", response.StatusCode, body)
		}
		f.allow = func(auth.Attributes) bool { return true }
		if response, _ := f.get(t, reads[0]); response.StatusCode != http.StatusOK {
			t.Errorf("the next request: got %d", response.StatusCode)
		}
	})
}

func TestPanicInTheMiddleOfAResponse(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *facade) {
		s := &Server{log: zap.NewNop(), observer: observe.Observers{}, authenticator: authenticated{}, counters: discardCounters{}, limiter: newLimiter(t.Context(), time.Minute), authorization: authorizationCheck{authorizer: allower{}}}
		client := testkit.ServeInMemory(t, s.handlerChain(aboutHealth, own(func(out *reply, _ *Request) error {
			_, _ = io.WriteString(out.w, `{"items":[`)
			_ = http.NewResponseController(out.w).Flush()
			panic("a bug")
		})))
		response, err := client.Get("http://facade.test/")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("got %q as a complete response", body)
		}
	})
}

// Only reads are served.
func TestOnlyReadsAreServed(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		const want = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}` + "\n"
		for _, path := range []string{"/api/v1/namespaces/ns/configmaps", "/api/v1/namespaces/ns/configmaps/a", "/apis", "/version", "/anything"} {
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECTS", "TRACE"} {
				response, body, err := f.try(t, method, path)
				if err != nil || response.StatusCode != http.StatusMethodNotAllowed || body != want {
					t.Errorf("%s %s: got %v %s", method, path, err, body)
				}
			}
			if n := f.Asked(testkit.Ask(path)); n != 0 {
				t.Errorf("got a request to the upstream for %s", path)
			}
		}
		for _, path := range []string{
			"/api/v1/namespaces/ns/pods/a/exec?command=sh", "/api/v1/namespaces/ns/pods/a/attach", "/api/v1/namespaces/ns/pods/a/portforward",
			"/api/v1/namespaces/ns/pods/a/proxy/x", "/api/v1/namespaces/ns/services/a/proxy", "/api/v1/nodes/a/proxy/logs", "/api/v1/proxy/nodes/a",
		} {
			response, body := f.get(t, path)
			path, _, _ = strings.Cut(path, "?")
			if response.StatusCode != http.StatusMethodNotAllowed || body != want || f.Asked(testkit.Ask(path)) != 0 {
				t.Errorf("%s: got an open connection: %d %s", path, response.StatusCode, body)
			}
		}
	})
}

func TestTimeoutParameter(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range manyObjects { // too many to be forwarded instead
			f.Put(fmt.Sprint("ns/", i), "1")
		}
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		response, body := f.get(t, "/api/v1/configmaps?resourceVersion=0&timeout=abc")
		if response.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"message":"invalid timeout specified in the request URL - time: invalid duration \"abc\""`) {
			t.Errorf("got %d %s", response.StatusCode, body)
		}
		began := time.Now()
		response, body = f.get(t, "/api/v1/configmaps?resourceVersion=9999&timeout=1s")
		if response.StatusCode != http.StatusGatewayTimeout || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" || time.Since(began) != time.Second {
			t.Errorf("got %d after %s: %s", response.StatusCode, time.Since(began), body)
		}
		began = time.Now()
		response, body = f.get(t, "/api/v1/configmaps?resourceVersion=9999")
		if response.StatusCode != http.StatusGatewayTimeout || response.Header.Get("Retry-After") != "1" || !strings.Contains(body, "Too large resource version: 9999, current: 502") {
			t.Errorf("got %d: %s", response.StatusCode, body)
		}
		if took := time.Since(began); took < freshWait || took > freshWait+time.Second {
			t.Errorf("got a response after %s", took)
		}
	})
}

// A malformed resourceVersion has four responses (semantics 1.5).
func TestMalformedResourceVersion(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		const words = `resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax"`
		for target, want := range map[string]struct {
			code int
			tail string
		}{
			"/api/v1/configmaps?resourceVersion=abc":                 {400, `"message":"invalid resource version: ` + words + `,"reason":"BadRequest","code":400}`},
			"/api/v1/namespaces/ns/configmaps/a?resourceVersion=abc": {500, `"message":"` + words + `,"code":500}`},
			"/api/v1/configmaps?watch=1&resourceVersion=abc":         {500, `"message":"` + words + `,"code":500}`},
		} {
			response, body := f.get(t, target)
			if response.StatusCode != want.code || !strings.HasSuffix(body, want.tail+"\n") {
				t.Errorf("%s: got %d %s", target, response.StatusCode, body)
			}
		}
	})
}

// A lane that is not filled responds like an uninitialized cache. Reads that cost the upstream little are forwarded
// (semantics 2.1).
func TestUnfilledLaneRespondsLikeUninitializedCache(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.Script(testkit.AskStreaming, testkit.Refuse(http.StatusInternalServerError, "InternalError"))
		for target, want := range map[string]int{
			"/api/v1/configmaps?resourceVersion=0":        http.StatusTooManyRequests,
			"/api/v1/configmaps?watch=1&timeoutSeconds=1": http.StatusTooManyRequests,
			"/api/v1/configmaps?limit=5&labelSelector=a":  http.StatusTooManyRequests,
			"/api/v1/configmaps?limit=5":                  http.StatusOK,
			"/api/v1/namespaces/ns/configmaps/a":          http.StatusOK,
		} {
			response, body := f.get(t, target)
			if response.StatusCode != want || want == http.StatusTooManyRequests && response.Header.Get("Retry-After") != "1" {
				t.Errorf("%s: got %d %s", target, response.StatusCode, body)
			}
		}
	})
}

// A read is forwarded if the lane is not confirmed fresh, and refused if the lane is too old.
func TestReadsWhileUpstreamIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		f.SetOffline(true)
		<-time.After(30 * time.Second)
		response, body := f.get(t, reads[0])
		if response.StatusCode != http.StatusOK || !strings.Contains(response.Header.Get("Warning"), "has received nothing from") {
			t.Errorf("any version: got %d %v %s", response.StatusCode, response.Header, body)
		}
		_, rest, _ := strings.Cut(body, `"resourceVersion":"`)
		version, _, _ := strings.Cut(rest, `"`)
		response, body = f.get(t, "/api/v1/configmaps?resourceVersionMatch=Exact&resourceVersion="+version)
		if response.StatusCode != http.StatusOK || response.Header.Get("Warning") != "" {
			t.Errorf("an exact version: got %d %v %s", response.StatusCode, response.Header, body)
		}
		response, body = f.get(t, "/api/v1/configmaps")
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Audit-Id") == "" || !strings.Contains(body, "cannot be reached") {
			t.Errorf("most recent: got %d %v %s", response.StatusCode, response.Header, body)
		}
		<-time.After(5 * time.Minute)
		if response, body = f.get(t, reads[0]); response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("above MaxStaleness: got %d %s", response.StatusCode, body)
		}
	}, func(c *Config) { c.MaxStaleness = 5 * time.Minute })
}

// Watches end without an error when the server drains, whether cached or forwarded.
func TestWatchesEndWhileDraining(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		began := time.Now()
		go func() {
			<-time.After(time.Minute)
			f.drain()
		}()
		if response, body := f.get(t, "/api/v1/configmaps?watch=1&resourceVersion=2"); response.StatusCode != http.StatusOK || body != "" {
			t.Errorf("got %d %q", response.StatusCode, body)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("got a watch of %s", took)
		}
		// A client that sends another watch on the same connection must reconnect, and not get a watch that ends
		// immediately.
		response, body := f.get(t, "/api/v1/configmaps?watch=1&resourceVersion=2")
		if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" || !response.Close {
			t.Errorf("got %d %v %q", response.StatusCode, response.Header, body)
		}
		if response, body := f.get(t, reads[0]); response.StatusCode != http.StatusOK {
			t.Errorf("a list while draining: got %d %s", response.StatusCode, body)
		}
	})
}

// A resource that has vanished, or was replaced by another one, is looked up in discovery again.
func TestVanishedResourceIsDiscoveredAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		<-time.After(time.Hour)
		before := f.Asked("/api/v1")
		gone := testkit.Refuse(http.StatusNotFound, "NotFound")
		f.Script("/api/v1", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[]}`)
		})
		for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskList, testkit.AskWatch} {
			f.Script(ask, gone)
		}
		f.DropWatches()
		synctest.Wait()
		for range 10 {
			if response, _ := f.get(t, reads[0]); response.StatusCode != http.StatusNotFound {
				t.Errorf("a vanished resource: got %d", response.StatusCode)
			}
		}
		if n := f.Asked("/api/v1") - before; n != 1 {
			t.Errorf("got %d reads of discovery", n)
		}
		for _, ask := range []testkit.Ask{"/api/v1", testkit.AskProbe, testkit.AskList, testkit.AskWatch} {
			f.Script(ask, nil)
		}
		<-time.After(10 * time.Second)
		if response, body := f.get(t, reads[0]); response.StatusCode != http.StatusOK || f.Asked(testkit.AskStreaming) != 2 {
			t.Errorf("the new resource: got %d %s", response.StatusCode, body)
		}
	})
}
