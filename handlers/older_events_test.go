package handlers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// A watch from before the lane's history receives the events from the upstream, then those of the lane, each once, and
// a bookmark above all of them.
func TestWatchFromBeforeTheLaneContinues(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		first := f.Put("ns/a", "1")
		f.Put("other/a", "1")
		f.Put("ns/b", "1")
		f.Put("ns/a", "2")
		f.Elsewhere()
		f.get(t, "/api/v1/configmaps?resourceVersion=0")
		f.Put("ns/c", "1") // the lane has this event
		_, body := f.get(t, fmt.Sprintf(
			"/api/v1/namespaces/ns/configmaps?watch=1&resourceVersion=%d&allowWatchBookmarks=true&timeoutSeconds=20", first))
		want := f.frame("ADDED", "ns/b", first+2, "1") + f.frame("MODIFIED", "ns/a", first+3, "2") +
			f.frame("ADDED", "ns/c", first+5, "1")
		if !strings.HasPrefix(body, want) || strings.Count(body, "\n") > 4 || strings.Contains(body, "ERROR") {
			t.Errorf("got\n%s\nwant\n%s and a bookmark", body, want)
		}
	})
}

// frame returns an event as a client without a Table receives it.
func (f *facade) frame(kind, key string, rv uint64, data string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, f.ObjectText(key, rv, data))
}

// The upstream's 410 is sent unchanged: in the stream, with the upstream's bound.
func TestWatchFromBeforeTheUpstreamExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		first := f.Put("ns/a", "1")
		f.Put("ns/b", "1")
		f.get(t, "/api/v1/configmaps?resourceVersion=0")
		status := fmt.Sprintf(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
			`"message":"too old resource version: %d (%d)","reason":"Expired","code":410}}`+"\n", first, first+1)
		f.Script(testkit.AskProgressWatch, says(status))
		response, body := f.get(t, fmt.Sprintf("/api/v1/configmaps?watch=1&resourceVersion=%d&timeoutSeconds=20", first))
		if response.StatusCode != 200 || body != status {
			t.Errorf("%d, got\n%s\nwant\n%s", response.StatusCode, body, status)
		}
	})
}

// movingLane is a lane that is listed again as soon as a watch has received the events from before its history.
type movingLane struct {
	Lane
	relist func()
}

// Older implements Lane.
func (m movingLane) Older(ctx context.Context, after cache.RV, s reflector.Selection,
	turn reflector.Turn) (*reflector.OlderEvents, error) {
	defer m.relist()
	return m.Lane.Older(ctx, after, s, turn)
}

// If the lane is listed again before the watch continues there, the client's own version is too old, not the one up to
// which the older events were read.
func TestWatchFromBeforeALaneThatMovesExpires(t *testing.T) {
	moves := func(c *Config) {
		if c.Lanes == nil {
			return
		}
		lanes := c.Lanes
		c.Lanes = LanesOf(func(resource upstream.Resource, e wire.Encoding) (movingLane, error) {
			lane, err := lanes.Get(resource, e)
			return movingLane{Lane: lane, relist: func() {
				if state, err := lane.Store().State(); err == nil {
					lane.Store().Replace(state.RV()+100, state.Shape(), nil)
				}
			}}, err
		})
	}
	inBubble(t, func(t *testing.T, f *facade) {
		first := f.Put("ns/a", "1")
		f.Put("ns/b", "1")
		f.get(t, "/api/v1/configmaps?resourceVersion=0")
		_, body := f.get(t, fmt.Sprintf("/api/v1/configmaps?watch=1&resourceVersion=%d&timeoutSeconds=20", first))
		if want := fmt.Sprintf("too old resource version: %d (", first); !strings.Contains(body, want) {
			t.Errorf("got\n%s\nwant %q", body, want)
		}
	}, moves)
}
