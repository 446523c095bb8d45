package cache

import (
	"errors"
	"fmt"
)

var (
	// ErrNotReady says that the lane has not seen its first list yet (semantics 2.1: "storage is (re)initializing").
	ErrNotReady = errors.New("cache: lane holds no list yet")

	// ErrClosed says that the lane was stopped.
	ErrClosed = errors.New("cache: lane is closed")

	// ErrOutOfOrder says that a change's RV does not rise above what the lane has already applied: a repeat from a
	// second upstream stream, to be dropped.
	ErrOutOfOrder = errors.New("cache: change is not newer than the lane")

	// ErrLateDeletion says that something is deleted at an RV up to which everything was told: what sends the changes has
	// bridged a gap (Replay), and the lane holds what it held before.
	ErrLateDeletion = errors.New("cache: a deletion at the lane's own version")
)

// ExpiredError says that history no longer holds what happened after an RV (I6). It is also how watchers learn of a
// new epoch (I11).
type ExpiredError struct {
	Requested RV // where the reader wanted to start, or had got to
	Oldest    RV // the smallest RV that would have been accepted
}

// Error words it as the upstream does in a watch's ERROR event (semantics 4.1).
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("too old resource version: %d (%d)", e.Requested, e.Oldest)
}

// TooLargeError says that the lane did not reach an RV in time (semantics 2.2).
type TooLargeError struct {
	Requested RV
	Current   RV
}

// Error words it as the upstream does, without the "Timeout: " that its Status puts in front.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Too large resource version: %d, current: %d", e.Requested, e.Current)
}
