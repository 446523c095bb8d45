package protowire

import "fmt"

// MalformedError is returned for bytes that are not valid protobuf or not the expected message.
type MalformedError struct {
	// Reason describes the error for logs.
	Reason string
}

// Error implements error.
func (e *MalformedError) Error() string { return "malformed protobuf: " + e.Reason }

func malformed(format string, args ...any) error {
	return &MalformedError{Reason: fmt.Sprintf(format, args...)}
}
