package reflector

import "go.uber.org/zap"

// learnBookmark stores the fields of a bookmark of this kind, read from a frame.
func (w *writer) learnBookmark(frame []byte) {
	bookmark, err := w.listWatch.Load().reader.Bookmark(frame)
	if err != nil {
		w.log.Warn("Failed to parse the upstream's bookmark", zap.Error(err))
	}
	w.reflector.bookmark.Store(&bookmark)
}

// knowBookmark uses a bookmark with minimal fields if the upstream has sent none.
func (w *writer) knowBookmark() {
	if w.reflector.Bookmark() == nil {
		bookmark := w.shape.Bookmark()
		w.reflector.bookmark.Store(&bookmark)
	}
}
