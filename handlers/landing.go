package handlers

import "github.com/listfacade/listfacade/bookmarks"

// lands tells whether a bookmark is owed because the client could not watch on from the last event, which is inside a
// gap that was bridged (docs/adr/0021-gaps-are-bridged.md).
func (s *watchStream) lands() bool { return s.bookmarking && s.watcher.Landing() > s.landed }

// land sends that bookmark once everything was told that happened in the gap, whether the upstream is heard or not.
func (s *watchStream) land() bool {
	if !s.lands() || s.watcher.Progress() < s.watcher.Landing() {
		return false
	}
	s.landed = s.watcher.Landing()
	s.events.bookmark(s.watcher.Progress(), bookmarks.Plain)
	return true
}
