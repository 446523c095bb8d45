package reflector

import (
	"net/http"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire"
)

func TestBookmarkThatCannotBeLearned(t *testing.T) {
	for want, shape := range map[string]wire.Shape{
		`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`:          {Kind: "Pod", APIVersion: "v1"},
		`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"resourceVersion":"7"}}`: {Kind: "Widget", APIVersion: "ex.io/v1", Custom: true},
	} {
		w := &writer{reflector: &Reflector{}, log: zap.NewNop(), shape: shape}
		w.learnBookmark(wire.Frame{Row: wire.Row{
			Object: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"real","resourceVersion":"5"}}`),
		}})
		if got := string(w.reflector.Bookmark().Template.Append(nil, 7, bookmarks.Plain)); got != want {
			t.Errorf("bookmark %s, want %s", got, want)
		}
	}
}

// A lane that was once read as a streaming list keeps its bookmark when it is listed page by page, because the upstream
// was slow for once or is another one now.
func TestBookmarkOutlivesStreamingLists(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.SetWays(testkit.Ways{NullTimes: true}) // so that it says more than the least
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "BadRequest"))
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.DropWatches()
		elapse(time.Second)
		if r.Asked(testkit.AskList) == 0 {
			t.Fatal("the lane was not listed page by page")
		}
		const want = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","creationTimestamp":null}}`
		if got := string(lane.Bookmark().Template.Append(nil, 7, bookmarks.Plain)); got != want {
			t.Errorf("bookmark %s, want %s", got, want)
		}
	})
}
