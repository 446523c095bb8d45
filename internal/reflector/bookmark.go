package reflector

import (
	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/wire"
)

// learnBookmark reads a bookmark frame of the upstream, and stores the fields that bookmarks of this resource have. If
// the frame cannot be parsed, it stores minimal fields.
func (l *lane) learnBookmark(by *listWatch, frame []byte) {
	bookmark, err := by.reader.Bookmark(frame)
	if err != nil {
		l.log.Warn("Failed to parse the upstream's bookmark", zap.Error(err))
	}
	l.bookmark.Store(&bookmark)
	l.marked.Store(true)
}

// knowBookmark stores a bookmark with minimal fields if the upstream has sent no bookmark.
func (l *lane) knowBookmark(shape wire.Shape) {
	if l.Bookmark() == nil {
		bookmark := shape.Bookmark()
		l.bookmark.Store(&bookmark)
	}
}
