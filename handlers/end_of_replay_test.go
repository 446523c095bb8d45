package handlers

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/selectors"
)

// A watch that ends while its client is inside a replay sends all of the replay, and ends with its bookmark. Many feeds
// make the replay long enough.
func TestWatchesEndAfterReplay(t *testing.T) {
	const objects, feeds = 300, 1500
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range objects {
			f.Put(fmt.Sprintf("ns/o%03d", i), "1")
		}
		f.get(t, reads[0])
		lane, err := f.lanes.Get(configMaps, jsonwire.Encoding{})
		if err != nil {
			t.Fatal(err)
		}
		lane.AwaitSync(t.Context(), time.Minute)
		for i := range feeds {
			l, err := selectors.ParseLabels(fmt.Sprintf("!l%d", i))
			if err != nil {
				t.Fatal(err)
			}
			w, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", l, fields.Everything())})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
		}
		state, err := lane.Cache.State()
		if err != nil {
			t.Fatal(err)
		}
		response := f.open(t, fmt.Sprintf("/api/v1/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=%d", state.RV()))
		frames := bufio.NewScanner(response.Body)
		end := state.RV() + 1000
		over := lane.Cache.Expect()
		if err := lane.Cache.Replay(end, nil); err != nil {
			t.Fatal(err)
		}
		over()
		frames.Scan()
		f.drain()
		events, last := 1, ""
		for ; frames.Scan(); events++ {
			last = frames.Text()
		}
		if events != objects+1 || !strings.Contains(last, "BOOKMARK") || !strings.Contains(last, fmt.Sprintf(`"resourceVersion":"%d"`, end)) {
			t.Errorf("got %d events, the last one %s", events, last)
		}
	})
}

// open starts a watch.
func (f *facade) open(t *testing.T, target string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}
