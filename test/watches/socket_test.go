package watches

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// TestWatchSockets compares cached and forwarded watches over websockets, and refused ones.
func TestWatchSockets(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	secret := func(name string) {
		s.Create(t, secrets, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}})
	}
	secret("a")
	suite.Reach(t, o, suite.Collection(suite.ConfigMaps, s.Namespace), s.Put(t, suite.ConfigMaps, "a", "", "1"))
	upgrading := http.Header{"Upgrade": {"websocket"}, "Accept": {suite.AcceptJSON}}
	pairs := map[string]suite.Pair{}
	for _, path := range []string{suite.Collection(suite.ConfigMaps, s.Namespace), suite.Collection(secrets, s.Namespace)} {
		pairs[path] = suite.WatchBoth(t, o, testkit.Question{Path: path + "?watch=1&allowWatchBookmarks=true", Header: upgrading})
	}
	secret("b")
	s.Put(t, suite.ConfigMaps, "b", "", "1")
	for path, p := range pairs {
		said := func(r *testkit.Recording) bool { return r.Code == http.StatusSwitchingProtocols && r.Notified() >= 2 }
		want, got := p.Upstream.Until(t, "both objects", said), p.Facade.Until(t, "both objects", said)
		if diff := testkit.DiffBegun(want, got); diff != "" {
			t.Errorf("%s\n%s", path, diff)
		}
	}
	for _, path := range []string{suite.Collection(suite.ConfigMaps, s.Namespace), suite.Collection(secrets, s.Namespace)} {
		for _, query := range []string{"watch=1&timeoutSeconds=1&resourceVersion=0", "watch=1&timeoutSeconds=-1&resourceVersion=0", "watch=1&labelSelector=a+b", "watch=1&resourceVersion=abc"} {
			p := suite.WatchBoth(t, o, testkit.Question{Path: path + "?" + query, Header: upgrading})
			want, got := p.Upstream.Ended(t), p.Facade.Ended(t)
			if diff := testkit.DiffBegun(want, got) + testkit.DiffEnds(want, got); diff != "" {
				t.Errorf("%s?%s\n%s", path, query, diff)
			}
		}
	}
}
