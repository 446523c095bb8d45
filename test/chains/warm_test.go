package chains

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const gadgets = "gadgets.watch.example.com"

// warmed configures a facade that starts with a peer's config maps and gadgets.
func warmed(url, ca string) func(*facade.Config) {
	return func(c *facade.Config) {
		c.WarmFrom, c.WarmFromCAFile = []string{url}, ca
		c.Preload, c.PreloadEncodings = []string{"configmaps", gadgets}, []string{"json", "protobuf"}
	}
}

// fills returns how often a facade's lanes were filled, by source.
func fills(t *testing.T, f *suite.Facade, source string) string {
	t.Helper()
	answer, err := f.HTTP2Client(t).Get(f.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`listfacade_lane_fills_total\{source="` + source + `"\} (\d+)`).FindSubmatch(text)
	if found == nil {
		return "0"
	}
	return string(found[1])
}

// newPeer returns a facade with lanes of config maps and gadgets.
func newPeer(t *testing.T) (*suite.Fixture, *suite.Facade) {
	t.Helper()
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	for i := range 5 {
		s.Put(t, suite.ConfigMaps, fmt.Sprintf("c%d", i), "t=a", "1")
		s.Put(t, suite.Gadgets, fmt.Sprintf("g%d", i), "t=a", "1")
	}
	return s, suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) {
		c.Preload, c.PreloadEncodings = []string{"configmaps", gadgets}, []string{"json", "protobuf"}
	})
}

// answersAll compares the answers of a facade and kube-apiserver after another write.
func answersAll(t *testing.T, s *suite.Fixture, f *suite.Facade) {
	t.Helper()
	oracle := s.Oracle(t, f)
	s.Remove(t, suite.ConfigMaps, "c0")
	s.Put(t, suite.ConfigMaps, "c1", "t=b", "2")
	s.Put(t, suite.Gadgets, "later", "t=a", "1")
	for _, path := range []string{suite.Collection(suite.ConfigMaps, s.Namespace), suite.Collection(suite.Gadgets, s.Namespace)} {
		for _, form := range []string{suite.AcceptJSON, suite.AcceptTable, acceptProtobuf} {
			oracle.Compare(t, testkit.Question{Path: path, Header: suite.Accepting(form)})
		}
		suite.Reach(t, oracle, path, s.Put(t, suite.Gadgets, "last", "t=a", "1"))
	}
}

// A facade that starts with a peer sends kube-apiserver one watch per resource and no list. Only custom resources are
// listed, because a peer may have them by an earlier definition.
func TestWarmStartNeedsNoLists(t *testing.T) {
	s, peer := newPeer(t)
	tally := suite.NewTally(t, suite.Cluster(t))
	f := suite.LaunchFacade(t, tally.Kubeconfig, warmed(peer.URL, peer.Config.CAFile))
	f.AwaitReady(t)
	for _, what := range []suite.Asked{{Resource: "configmaps"}, {Resource: "configmaps", Protobuf: true}, {Resource: gadgets}} {
		for what.Way = range map[suite.Way]bool{suite.List: true, suite.Watch: true} {
			got, want := tally.Asked(what), map[suite.Way]int{suite.Watch: 1}[what.Way]
			if custom := what.Resource == gadgets && what.Way == suite.List; custom && got == 0 || !custom && got != want {
				t.Errorf("%s: %d times", what, got)
			}
		}
		what.Way = suite.Other
		t.Logf("%s: %d times", what, tally.Asked(what))
	}
	if got := fills(t, f, "peer"); got != "2" {
		t.Errorf("%s lanes were filled from the peer; %v", got, f.Logs.All())
	}
	answersAll(t, s, f)
}

// Writes after the version of the peer's list arrive by the watch.
func TestWarmStartFromLaggingPeer(t *testing.T) {
	settings.Long(t)
	s, peer := newPeer(t)
	var once atomic.Bool
	url, ca := serve(t, peer, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
		if r.URL.Path == "/api/v1/configmaps" && r.URL.Query().Get("limit") == "100" && once.CompareAndSwap(false, true) {
			s.Put(t, suite.ConfigMaps, "c2", "t=b", "since")
			s.Remove(t, suite.ConfigMaps, "c3")
		}
	})
	f := suite.StartFacade(t, suite.Cluster(t), warmed(url, ca))
	if got := fills(t, f, "peer"); got != "2" || !once.Load() {
		t.Errorf("%s lanes were filled from the peer; %v", got, f.Logs.All())
	}
	answersAll(t, s, f)
}
