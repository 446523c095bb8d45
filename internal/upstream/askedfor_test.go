package upstream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// asked is an Observer that records its calls.
type asked struct {
	mu       sync.Mutex
	observed []string
	code     []int
}

// Asked implements Observer.
func (a *asked) Asked(request string, code int, _ time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.observed, a.code = append(a.observed, request), append(a.code, code)
}

// Observers receive the kind and outcome of each request, except of requests whose caller left.
func TestObservers(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var observed asked
		client, err := NewClient(r.Config(), Hop{}, &observed)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.CloseIdle)
		resource := Resource{GVR: configMaps.GVR, Namespaced: true}
		if _, err := client.ResourceVersion(t.Context(), resource); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get(t.Context(), Target{Path: "/nowhere"}, MediaJSON, 1<<10); !HasCode(err, http.StatusNotFound) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := client.Get(ctx, Target{Path: resource.Path("")}, MediaJSON, 1<<10); err == nil {
			t.Fatal("got a response, want none")
		}
		broken := outageTransport{RoundTripper: roundTrip(breaks), outage: &outage{}, observers: []Observer{&observed}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://upstream.test"+resource.Path(""), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := broken.RoundTrip(request); err == nil {
			t.Fatal("got a response, want none")
		}
		if diff := cmp.Diff([]string{ForProbe, ForDocument, ForRead}, observed.observed); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int{200, 404, 0}, observed.code); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAskedFor(t *testing.T) {
	widgets := Resource{GVR: schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: "widgets"}, Namespaced: true}
	for target, want := range map[string]string{
		"/api": ForDocument, "/api/v1": ForDocument, "/apis/apps/v1": ForDocument, "/version": ForDocument, "/openapi/v3/apis/apps/v1": ForDocument,
		"/api/v1/pods": ForRead, "/cluster/api/v1/pods?limit=500": ForRead, "/apis/apps/v1/deployments": ForRead,
		widgets.Path("a") + "/b": ForRead, "/api/v1/pods?allowWatchBookmarks=true&watch=1": ForWatch,
		widgets.EmptyListTarget().Path + "?" + widgets.EmptyListTarget().Query.Encode(): ForProbe,
	} {
		if got := askedFor(httptest.NewRequest(http.MethodGet, target, nil)); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	if got := askedFor(httptest.NewRequest(http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", nil)); got != ForReview {
		t.Errorf("got %s for a review", got)
	}
	if got := askedFor(httptest.NewRequest(http.MethodGet, "/api/v1/pods?watch=1", nil).WithContext(passing(t.Context()))); got != ForPassThrough {
		t.Errorf("got %s for a forwarded request", got)
	}
}
