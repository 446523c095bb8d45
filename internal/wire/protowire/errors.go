package protowire

import "fmt"

// MalformedError says why some bytes are not what the upstream should have sent.
type MalformedError struct {
	// Reason names what is wrong, in words for a log.
	Reason string
}

// Error words it for a log.
func (e *MalformedError) Error() string { return "malformed protobuf: " + e.Reason }

func malformed(format string, args ...any) error {
	return &MalformedError{Reason: fmt.Sprintf(format, args...)}
}
