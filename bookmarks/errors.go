package bookmarks

import "fmt"

// MalformedError says why some bytes are not a bookmark to learn from.
type MalformedError struct {
	// Reason names what is wrong, in words for a log.
	Reason string
	cause  error
}

// Error words it for a log.
func (e *MalformedError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("not a bookmark object: %s: %v", e.Reason, e.cause)
	}
	return "not a bookmark object: " + e.Reason
}

// Unwrap returns the JSON error beneath, if there is one.
func (e *MalformedError) Unwrap() error { return e.cause }

func malformed(format string, args ...any) *MalformedError {
	return &MalformedError{Reason: fmt.Sprintf(format, args...)}
}
