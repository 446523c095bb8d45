package handlers

import (
	"hash/fnv"
	"time"
)

// bookmarkPhase returns the same phase (bookmarks.Options) for all watches on a connection, from the address and port
// of its client. The phases of many connections are spread over a second.
func bookmarkPhase(client string) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(client)) // never fails
	return time.Duration(hash.Sum32()) % time.Second
}
