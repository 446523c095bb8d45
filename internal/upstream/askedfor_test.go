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

// asked is an Observer.
type asked struct {
	mu   sync.Mutex
	told []string
	code []int
}

// Asked implements Observer.
func (a *asked) Asked(request string, code int, _ time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told, a.code = append(a.told, request), append(a.code, code)
}

// Observers are told what each request asks for and how it was answered, but of who left.
func TestObservers(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		var told asked
		client, err := NewClient(r.Config(), Hop{}, &told)
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
			t.Fatal("it was answered")
		}
		broken := listeningTransport{RoundTripper: roundTrip(breaks), outage: &outage{}, observers: []Observer{&told}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://upstream.test"+resource.Path(""), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := broken.RoundTrip(request); err == nil {
			t.Fatal("it was answered")
		}
		if diff := cmp.Diff([]string{ForProbe, ForDocument, ForRead}, told.told); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int{200, 404, 0}, told.code); diff != "" {
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
		widgets.Nothing().Path + "?" + widgets.Nothing().Query.Encode(): ForProbe,
	} {
		if got := askedFor(httptest.NewRequest(http.MethodGet, target, nil)); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	if got := askedFor(httptest.NewRequest(http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", nil)); got != ForReview {
		t.Errorf("a review: %s", got)
	}
	if got := askedFor(httptest.NewRequest(http.MethodGet, "/api/v1/pods?watch=1", nil).WithContext(passing(t.Context()))); got != ForPassThrough {
		t.Errorf("for a client: %s", got)
	}
}
