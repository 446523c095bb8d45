package timeline

import "errors"

var (
	// ErrNoJournal is returned when a directory has no journal, or the journal begins after the period.
	ErrNoJournal = errors.New("the directory has no journal that begins before --to")
	// ErrNotRecorded is returned for a resource that is not in the journal.
	ErrNotRecorded = errors.New("the journal does not contain this resource in that period")
	// ErrNoObject is returned when the journal does not contain an object.
	ErrNoObject = errors.New("the journal does not contain this object in that period")
	// ErrOrder is returned when a period ends before it begins.
	ErrOrder = errors.New("--from is later than --to")
)
