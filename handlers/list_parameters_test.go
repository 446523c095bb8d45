package handlers

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
)

// The facade does not ignore parameters of a later Kubernetes release by mistake.
func TestEveryListOptionIsInListParameters(t *testing.T) {
	planned := map[string]bool{}
	for name := range listParameters {
		planned[name] = true
	}
	options := reflect.TypeFor[metav1.ListOptions]()
	for i := range options.NumField() {
		if options.Field(i).Anonymous { // the TypeMeta
			continue
		}
		name, _, _ := strings.Cut(options.Field(i).Tag.Get("json"), ",")
		if !planned[name] {
			t.Errorf("ListOptions has %s, want it in listParameters", name)
		}
		delete(planned, name)
	}
	for name := range planned {
		t.Errorf("listParameters has %s, which ListOptions does not have", name)
	}
}

// A list or watch of a shard is forwarded unchanged and opens no lane. An empty selector selects everything.
func TestShardsAreForwarded(t *testing.T) {
	const shard = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		for _, c := range []struct {
			target string
			ask    testkit.Ask
		}{
			{"/api/v1/configmaps?", testkit.AskList},
			{"/api/v1/configmaps?limit=1&", testkit.AskList},
			{"/api/v1/configmaps?resourceVersion=0&", testkit.AskList},
			{"/api/v1/namespaces/ns/configmaps?watch=1&resourceVersion=2&timeoutSeconds=1&", testkit.AskWatch},
			{"/api/v1/watch/namespaces/ns/configmaps?resourceVersion=2&timeoutSeconds=1&", ""}, // not in the fake upstream
		} {
			query := "shardSelector=" + url.QueryEscape(shard)
			asked := f.Asked(c.ask)
			f.get(t, c.target+query)
			requests := f.Requests(c.ask)
			if c.ask != "" && (len(requests) != asked+1 || requests[asked].URL.Query().Get("shardSelector") != shard) {
				t.Errorf("%s: got %d requests, want one more than %d, with the selector", c.target, len(requests), asked)
			}
			if e := f.events.last(); e.Source != observe.FromUpstream || e.Reason != observe.Unserved {
				t.Errorf("%s: got a response from %s because of %q", c.target, e.Source, e.Reason)
			}
		}
		if lanes := len(f.lanes.All()); lanes != 0 {
			t.Errorf("got %d lanes, want none", lanes)
		}
		for _, target := range []string{
			"/api/v1/configmaps?resourceVersion=0&shardSelector=", "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0&shardSelector=" + url.QueryEscape(shard),
		} {
			response, _ := f.get(t, target)
			if e := f.events.last(); response.StatusCode != http.StatusOK || e.Source != observe.FromCache {
				t.Errorf("%s: got %s from %s because of %q, want it from the cache", target, response.Status, e.Source, e.Reason)
			}
		}
	})
}
