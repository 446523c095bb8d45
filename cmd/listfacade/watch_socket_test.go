package main

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

// TestWatchSockets watches over websockets what the cache answers and what is passed through, and asks in ways that are refused.
func TestWatchSockets(t *testing.T) {
	s := newStage(t, cluster)
	o := s.oracle(t, startFacade(t, cluster))
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	secret := func(name string) {
		s.create(t, secrets, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}})
	}
	secret("a")
	reach(t, o, collection(configMaps, s.namespace), s.put(t, configMaps, "a", "", "1"))
	upgrading := http.Header{"Upgrade": {"websocket"}, "Accept": {acceptJSON}}
	pairs := map[string]pair{}
	for _, path := range []string{collection(configMaps, s.namespace), collection(secrets, s.namespace)} {
		pairs[path] = watchBoth(t, o, testkit.Question{Path: path + "?watch=1&allowWatchBookmarks=true", Header: upgrading})
	}
	secret("b")
	s.put(t, configMaps, "b", "", "1")
	for path, p := range pairs {
		said := func(r *testkit.Recording) bool { return r.Code == http.StatusSwitchingProtocols && r.Told() >= 2 }
		want, got := p.upstream.Until(t, within, "both objects", said), p.facade.Until(t, within, "both objects", said)
		if diff := testkit.DiffBegun(want, got); diff != "" {
			t.Errorf("%s\n%s", path, diff)
		}
	}
	for _, path := range []string{collection(configMaps, s.namespace), collection(secrets, s.namespace)} {
		for _, query := range []string{"watch=1&timeoutSeconds=1&resourceVersion=0", "watch=1&labelSelector=a+b", "watch=1&resourceVersion=abc"} {
			p := watchBoth(t, o, testkit.Question{Path: path + "?" + query, Header: upgrading})
			want, got := p.upstream.Ended(t, within), p.facade.Ended(t, within)
			if diff := testkit.DiffBegun(want, got) + testkit.DiffEnds(want, got); diff != "" {
				t.Errorf("%s?%s\n%s", path, query, diff)
			}
		}
	}
}
