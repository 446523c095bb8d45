package upstream

import (
	"testing"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/internal/wire"
)

func TestBookmarkThatCannotBeLearned(t *testing.T) {
	for want, shape := range map[string]wire.Shape{
		`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`:          {Kind: "Pod", APIVersion: "v1"},
		`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"resourceVersion":"7"}}`: {Kind: "Widget", APIVersion: "ex.io/v1", Custom: true},
	} {
		r := &reader{lane: &Lane{}, log: zap.NewNop(), shape: shape}
		r.learnBookmark(wire.Frame{Row: wire.Row{
			Object: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"real","resourceVersion":"5"}}`),
		}})
		if got := string(r.lane.Bookmark().Template.Append(nil, 7, bookmarks.Plain)); got != want {
			t.Errorf("bookmark %s, want %s", got, want)
		}
	}
}
