package reflector

import "context"

// progressWatchSeconds is the shortest watch that kube-apiserver sends a bookmark on: it is due 2 s before the end
// (semantics 10.3).
const progressWatchSeconds = 3

// fence reads a short watch from where the lane is until a bookmark and hands its steps to the writer. It replays what
// the lane misses, and the bookmark proves that everything before it was sent (semantics 10.1). It returns when the
// writer has taken the steps, or when the context ends. An error only means that nothing was proven.
func (w *writer) progressWatch(ctx context.Context) {
	listWatch := w.synced.Load()
	rv, err := w.reflector.Cache.Position()
	// Both must be of one epoch: what comes after a version of the last one says nothing about the next.
	if err != nil || listWatch == nil || w.synced.Load() != listWatch {
		return
	}
	s, err := listWatch.watch(ctx, watchQuery(rv), progressWatchSeconds)
	if err != nil {
		return
	}
	defer s.close()
	for {
		st, err := s.next()
		if err != nil {
			return
		}
		proven := st.kind != stepChange
		st.frame = nil
		select {
		case w.progressWatched <- st:
		case <-ctx.Done():
			return
		}
		if proven {
			return
		}
	}
}
