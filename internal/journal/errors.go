package journal

import (
	"errors"
	"fmt"
)

var (
	// ErrLocked is returned when another process writes to the directory.
	ErrLocked = errors.New("another process writes to this journal")
	// ErrAccess is returned for links and other files of a wrong type, and when other users own or may write a file or
	// directory, or may read a file.
	ErrAccess = errors.New("file is a link or has a wrong type, belongs to another user, or is accessible to users other than its owner")
	// ErrDamaged is returned when a file is not a segment, or when a segment is damaged before its end. The records
	// before the damage are valid.
	ErrDamaged = errors.New("file is damaged")
	// ErrFormat is returned for a segment of another version of the format.
	ErrFormat = errors.New("segment has another version of the format")
	// ErrOrder is returned when a record has a lower resourceVersion than its predecessor.
	ErrOrder = errors.New("record has a lower resourceVersion than its predecessor")
	// ErrTooLarge is returned when a record is too large for a block.
	ErrTooLarge = errors.New("record is too large")
	// ErrNoSegment is returned by Append when the writer has no open segment. The caller has to call Begin.
	ErrNoSegment = errors.New("no open segment")
	// ErrNoDirectory is returned when no journal can be written to the directory.
	ErrNoDirectory = errors.New("cannot write a journal to this directory")
)

func damaged(offset int64, reason string) error {
	return fmt.Errorf("%w at offset %d: %s", ErrDamaged, offset, reason)
}
