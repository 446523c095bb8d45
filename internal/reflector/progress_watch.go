package reflector

import "context"

// progressWatchSeconds is the shortest timeout with which kube-apiserver sends a bookmark on a watch: 2 s before the
// end (semantics 10.3).
const progressWatchSeconds = 3

// ProgressWatch implements fresh.Filler. It reads a short watch from the lane's version to the first bookmark, and
// passes the events and the bookmark to the writer. The bookmark shows that no event is missing (semantics 10.1).
// ProgressWatch returns when the writer has received the bookmark, the watch ends, or the context ends. It reports no
// error: the caller has to check which version the lane has reached.
func (l *lane) ProgressWatch(ctx context.Context) {
	listWatch := l.synced.Load()
	rv, err := l.Cache.Position()
	// The version and listWatch must be of one epoch: events after a version of the last epoch do not belong to the next
	// one.
	if err != nil || listWatch == nil || l.synced.Load() != listWatch {
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
		complete := st.kind != stepChange
		st.frame = nil
		select {
		case l.progressWatched <- st:
		case <-ctx.Done():
			return
		}
		if complete {
			return
		}
	}
}
