package upstream

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var configMaps = testkit.FakeKind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}

// rig is a client of a scripted upstream, in a bubble of virtual time.
type rig struct {
	*testkit.FakeUpstream
	client *Client
}

// inBubble runs a test with a rig.
func inBubble(t *testing.T, kind testkit.FakeKind, test func(*testing.T, *rig)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := &rig{FakeUpstream: testkit.NewFakeUpstream(t, kind)}
		var err error
		if r.client, err = NewClient(r.Config(), Hop{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.client.CloseIdle)
		test(t, r)
	})
}

// elapse advances virtual time.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// text answers 200 with a body.
func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}
