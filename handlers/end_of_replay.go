package handlers

import (
	"time"

	"github.com/listfacade/listfacade/bookmarks"
)

// landWait is how long a watch that is over goes on, where its client stands in the midst of a gap that was bridged:
// all of that is there, and is sent in milliseconds to a client that takes it.
const landWait = time.Second

// lands tells whether a bookmark is owed because the client could not watch on from the last event, which is inside a
// gap that was bridged (docs/adr/0021-gaps-are-bridged.md).
func (s *watchStream) lands() bool { return s.bookmarking && s.watcher.EndOfReplay() > s.landed }

// land sends that bookmark once everything was told that happened in the gap, whether the upstream is heard or not. It
// returns false when none is owed; while one is, no other is sent: it would be of before the gap.
func (s *watchStream) land() bool {
	if !s.lands() {
		return false
	}
	if s.watcher.Progress() >= s.watcher.EndOfReplay() {
		s.landed = s.watcher.EndOfReplay()
		s.events.bookmark(s.watcher.Progress(), bookmarks.Plain)
	}
	return true
}

// leave tells a client whose watch is over what is left of a gap, and where it ends: it could not watch on from inside.
func (s *watchStream) leave() error {
	over := time.Now().Add(landWait)
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
		select { // for what feeds are still to be told
		case <-s.watcher.Wait():
		case <-time.After(awaitedEvery):
		}
	}
	s.land()
	return nil
}
