package cache

import (
	"errors"
	"fmt"
)

var (
	// ErrNotReady is returned before the lane has its first list (semantics 2.1: "storage is (re)initializing").
	ErrNotReady = errors.New("cache: lane has no list yet")

	// ErrClosed is returned after Lane.Close.
	ErrClosed = errors.New("cache: lane is closed")

	// ErrOutOfOrder is returned for a change whose RV is not above the lane's RV. Another upstream stream has already
	// brought the change, so the caller drops it.
	ErrOutOfOrder = errors.New("cache: change is not newer than the lane")

	// ErrLost is returned by a Tail when events after its position are missing. The reader begins again with a State.
	ErrLost = errors.New("cache: events were lost")

	// ErrLateDeletion is returned for a deletion at an RV up to which the lane already has every event. The upstream is
	// then a facade that has replayed a lost window. The lane's content does not change.
	ErrLateDeletion = errors.New("cache: deletion at a resourceVersion up to which the lane already has every event")
)

// ExpiredError is returned when a lane cannot send the events after an RV: the RV is below the history window (I6), in
// a lost window (I12) or in a past epoch (I11).
type ExpiredError struct {
	Requested RV // RV where the reader wanted to start, or which it had reached
	Oldest    RV // RV at which the reader could start
}

// Error returns the message that kube-apiserver sends in the ERROR event of a watch (semantics 4.1).
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("too old resource version: %d (%d)", e.Requested, e.Oldest)
}

// TooLargeError is returned when the lane has not reached an RV at the end of the wait (semantics 2.2).
type TooLargeError struct {
	Requested RV
	Current   RV
}

// Error returns kube-apiserver's message without the prefix "Timeout: ", which the Status adds.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Too large resource version: %d, current: %d", e.Requested, e.Current)
}
