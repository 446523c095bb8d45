package reflector

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

func TestBookmarkThatCannotBeLearned(t *testing.T) {
	for want, kind := range map[string]wire.Description{
		`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`: {Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}},
		`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"resourceVersion":"7"}}`: {
			Kind: schema.GroupVersionKind{Group: "ex.io", Version: "v1", Kind: "Widget"}, Custom: true,
		},
	} {
		e := jsonwire.Encoding{}
		r := &Reflector{lane: &lane{log: zap.NewNop()}}
		r.learnBookmark(&listWatch{reader: e.Reader(kind, e.RequestFormats()[0], nil)}, []byte(`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"real","resourceVersion":"5"}}}`))
		if got := bookmarkText(e.Shape(kind), r); got != want {
			t.Errorf("got bookmark %s, want %s", got, want)
		}
	}
}

// bookmarkText is the object of a lane's bookmark at version 7.
func bookmarkText(shape wire.Shape, r *Reflector) string {
	bookmark := shape.WithResourceVersion(&r.Bookmark().Plain, "7")
	return strings.TrimSuffix(string(shape.AppendObject(nil, wire.Representation{}, &bookmark, time.Now())), "\n")
}

// A lane keeps the bookmark of a streaming list when a later list is read by pages: the upstream may have been slow, or
// replaced.
func TestBookmarkOutlivesStreamingLists(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.SetWays(testkit.Ways{NullTimes: true}) // so that it has more than the minimal fields
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "BadRequest"))
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.DropWatches()
		elapse(time.Second)
		if r.Asked(testkit.AskList) == 0 {
			t.Fatal("got a streaming list, want pages")
		}
		const want = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","creationTimestamp":null}}`
		if got := bookmarkText(stateOf(t, lane).Shape(), lane); got != want {
			t.Errorf("got bookmark %s, want %s", got, want)
		}
	})
}
