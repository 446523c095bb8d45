package handlers

import (
	"hash/fnv"
	"time"
)

// bookmarkPhase computes the phase of bookmarks (bookmarks.Options.Phase) from the address and port of a client. All
// watches on a connection have the same phase. The phases of many connections are spread over a second.
func bookmarkPhase(client string) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(client)) // never fails
	return time.Duration(hash.Sum32()) % time.Second
}
