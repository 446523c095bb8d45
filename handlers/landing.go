package handlers

import "github.com/listfacade/listfacade/bookmarks"

// lands tells whether a bookmark is owed because the client could not watch on from the last event, which is inside a
// gap that was bridged (docs/adr/0021-gaps-are-bridged.md).
func (s *watchStream) lands() bool { return s.bookmarking && s.watcher.Landing() > s.landed }

// land sends that bookmark once everything was told that happened in the gap, whether the upstream is heard or not. It
// returns false when none is owed; while one is, no other is sent: it would be of before the gap.
func (s *watchStream) land() bool {
	if !s.lands() {
		return false
	}
	if s.watcher.Progress() >= s.watcher.Landing() {
		s.landed = s.watcher.Landing()
		s.events.bookmark(s.watcher.Progress(), bookmarks.Plain)
	}
	return true
}
