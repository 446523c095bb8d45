package handlers

import (
	"time"

	"github.com/listfacade/listfacade/bookmarks"
)

// replayWait is how long a watch may exceed its lifetime to finish a replay of differences. All events of the replay
// are available, so a client that reads receives them in milliseconds.
const replayWait = time.Second

// owesReplayBookmark reports whether the client needs a bookmark, because its last event is inside a replay of
// differences. The client could not resume the watch after that event (docs/adr/0021-lost-windows.md).
func (s *watchStream) owesReplayBookmark() bool {
	return s.bookmarking && s.watcher.EndOfReplay() > s.replayed
}

// sendReplayBookmark reports whether the client needs a bookmark after a replay. It sends the bookmark after the last
// event of the replay, even if the upstream does not respond. Before the last event, it sends nothing, and the caller
// must not send a bookmark either: its version would precede the lost window.
func (s *watchStream) sendReplayBookmark() bool {
	if !s.owesReplayBookmark() {
		return false
	}
	if s.watcher.Progress() >= s.watcher.EndOfReplay() {
		s.replayed = s.watcher.EndOfReplay()
		s.events.bookmark(s.watcher.Progress(), bookmarks.Plain)
	}
	return true
}

// finishReplay sends the rest of a replay and its bookmark after the watch has ended. A client that receives only a
// part of a replay cannot resume.
func (s *watchStream) finishReplay() error {
	over := time.Now().Add(replayWait)
	for s.watcher.EndOfReplay() > s.watcher.Progress() && time.Now().Before(over) {
		if event, ok := s.watcher.Next(); ok {
			s.add(event)
			if err := s.events.flushFull(); err != nil {
				return err
			}
			continue
		}
		if s.watcher.Err() != nil {
			break
		}
		select { // events may still arrive in the feeds
		case <-s.watcher.Wait():
		case <-time.After(awaitedEvery):
		}
	}
	s.sendReplayBookmark()
	return nil
}
