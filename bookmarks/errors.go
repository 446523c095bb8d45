package bookmarks

import "fmt"

// MalformedError is returned by Learn for bytes that are not a bookmark.
type MalformedError struct {
	// Reason is for logs.
	Reason string
	cause  error
}

// Error returns a message for a log.
func (e *MalformedError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("not a bookmark object: %s: %v", e.Reason, e.cause)
	}
	return "not a bookmark object: " + e.Reason
}

// Unwrap returns the JSON error, or nil.
func (e *MalformedError) Unwrap() error { return e.cause }

func malformed(format string, args ...any) *MalformedError {
	return &MalformedError{Reason: fmt.Sprintf(format, args...)}
}
