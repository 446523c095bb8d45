package reflector

import "go.uber.org/zap"

// learnBookmark keeps what a bookmark of this kind looks like, which a frame with one shows.
func (w *writer) learnBookmark(frame []byte) {
	bookmark, err := w.listWatch.Load().reader.Bookmark(frame)
	if err != nil {
		w.log.Warn("the upstream's bookmark is not understood", zap.Error(err))
	}
	w.reflector.bookmark.Store(&bookmark)
}

// knowBookmark makes do with the least that every bookmark has, if none was seen.
func (w *writer) knowBookmark() {
	if w.reflector.Bookmark() == nil {
		bookmark := w.shape.Bookmark()
		w.reflector.bookmark.Store(&bookmark)
	}
}
