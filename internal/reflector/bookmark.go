package reflector

import (
	"go.uber.org/zap"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/internal/wire"
)

// Bookmark is what a bookmark of the lane's kind looks like, plain and as a row of a Table.
type Bookmark struct {
	Template *bookmarks.Template
	Cells    []byte
}

// learnBookmark keeps what a bookmark of this kind looks like; what cannot be learned is the least that every bookmark
// has.
func (w *writer) learnBookmark(frame wire.Frame) {
	template, err := bookmarks.Learn(frame.Row.Object)
	if err != nil {
		w.log.Warn("the upstream's bookmark is not understood", zap.Error(err))
		template = w.plainBookmark()
	}
	w.reflector.bookmark.Store(&Bookmark{Template: template, Cells: append([]byte(nil), frame.Row.Cells...)})
}

// plainBookmark is a bookmark of type meta and metadata only.
func (w *writer) plainBookmark() *bookmarks.Template {
	style := bookmarks.Builtin
	if w.shape.Custom {
		style = bookmarks.Custom
	}
	return bookmarks.Minimal(style, w.shape.APIVersion, w.shape.Kind)
}
