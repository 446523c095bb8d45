package reflector

import "go.uber.org/zap"

// learnBookmark reads a bookmark frame, and stores the fields that bookmarks of this resource have.
func (w *writer) learnBookmark(frame []byte) {
	bookmark, err := w.listWatch.Load().reader.Bookmark(frame)
	if err != nil {
		w.log.Warn("Failed to parse the upstream's bookmark", zap.Error(err))
	}
	w.reflector.bookmark.Store(&bookmark)
}

// knowBookmark stores a bookmark with minimal fields if the upstream has sent no bookmark.
func (w *writer) knowBookmark() {
	if w.reflector.Bookmark() == nil {
		bookmark := w.shape.Bookmark()
		w.reflector.bookmark.Store(&bookmark)
	}
}
