package page

import (
	"regexp"
	"strings"
	"time"
)

// plain matches paths that a shell does not change.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// replayCommand returns the command that serves the cluster as it was at a time, from the journal. It returns an empty
// text without a journal or a time.
func replayCommand(s *Status, at time.Time) string {
	if s.Journal == nil || at.IsZero() {
		return ""
	}
	dir := s.Journal.Dir
	if !plain.MatchString(dir) {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "listfacade replay --journal-dir " + dir + " --at " + at.UTC().Format(time.RFC3339)
}
