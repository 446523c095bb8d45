package reflector

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// A caller that waits for another caller's request waits no longer than its own context.
func TestWaitForClusterEndsWithContext(t *testing.T) {
	clusters := newClusters(nil)
	clusters.seat <- struct{}{}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errStuck)
	if uid, err := clusters.now(over); !errors.Is(err, errStuck) {
		t.Errorf("got %q, %v, want %v", uid, err, errStuck)
	}
}

// newPeer returns another facade that reads cluster 1, as a second fake upstream.
func newPeer(t *testing.T, kind testkit.FakeKind) (*rig, *upstream.Client) {
	t.Helper()
	peer := &rig{FakeUpstream: testkit.NewFakeUpstream(t, kind)}
	client, err := upstream.NewClient(peer.Config(), upstream.Hop{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	peer.isCluster("1")
	peer.isVersion("v1.37.0")
	return peer, client
}

// A peer may still read the cluster that this facade read before its address led to another one.
func TestPeerInEarlierClusterFillsNoLane(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		peer, client := newPeer(t, configMaps)
		peer.Put("ns/a", "old")
		r := newRig(t, configMaps, Config{Peers: []*upstream.Client{client}})
		r.isCluster("1")
		r.isVersion("v1.37.0")
		r.Put("ns/a", "old")
		r.synced(t)
		elapse(time.Minute)
		r.isCluster("2")
		r.Rewrite(func(text string) string { return strings.Replace(text, "old", "new", 1) })
		r.DropWatches()
		elapse(time.Minute)
		lane, err := r.lanes.Get(r.resource(), namedEncoding{name: "other"})
		if err != nil {
			t.Fatal(err)
		}
		lane.AwaitSync(t.Context(), time.Hour)
		if got := shown(t, lane, "ns/a"); !strings.Contains(got, "new") || !r.logged(errOtherCluster.Error()) {
			t.Errorf("got %s, want the object of cluster 2", got)
		}
	})
}

// A peer may not have received the change of a definition yet, or may not follow definitions at all.
func TestCustomResourcesAreNotFilledFromAPeer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		peer, client := newPeer(t, widgets)
		peer.Put("ns/a", "old")
		r := newRig(t, widgets, Config{Peers: []*upstream.Client{client}})
		r.isCluster("1")
		r.isVersion("v1.37.0")
		r.Script(crdPath, definedAs("u1", 2, "102", "WidgetList"))
		r.Put("ns/a", "new")
		lane := r.synced(t)
		if got := shown(t, lane, "ns/a"); !strings.Contains(got, "new") || peer.Asked(testkit.AskList) > 0 {
			t.Errorf("got %s and %d lists of the peer, want the upstream's object and none", got, peer.Asked(testkit.AskList))
		}
		if err := r.recent(t, lane); err != nil {
			t.Error(err)
		}
	})
}

// A peer that does not respond, one without a version and one with another version cause different errors, because
// their remedies differ.
func TestPeerOfUnknownVersion(t *testing.T) {
	const version = "v1.37.1 as ."
	for name, c := range map[string]struct {
		answer   http.HandlerFunc
		upstream string
		want     error
	}{
		"no response":                {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, version, context.DeadlineExceeded},
		"no version":                 {testkit.Refuse(http.StatusInternalServerError, "InternalError"), version, errNoPeerVersion},
		"another version":            {text(`{"gitVersion":"v1.36.0"}`), version, errOtherVersion},
		"upstream without a version": {text(`{"gitVersion":"v1.37.1"}`), "", errNoVersion},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.isCluster("1")
				r.Script(versionPath, c.answer)
				p := newPeers([]*upstream.Client{r.client}, versionWait/2).all[0] // ends before the request for the version
				_, err := p.agrees(t.Context(), r.resource(), "1", c.upstream, jsonwire.Style{})
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}
