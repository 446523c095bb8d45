package page

import (
	"regexp"
	"strings"
	"time"
)

// plain matches paths that need no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// replayCommand returns the command that serves the state of the cluster at a time from the journal. The command is
// empty without a journal or a time.
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
