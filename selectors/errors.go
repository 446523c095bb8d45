package selectors

import "errors"

// ErrNameMismatch is returned when the path and the field selector of a request name different objects. kube-apiserver
// responds 400 BadRequest with this text (semantics 5.5).
var ErrNameMismatch = errors.New("fieldSelector metadata.name doesn't match requested name")

// InvalidError is returned for an invalid selector. Its text is the message of kube-apiserver's 400 BadRequest, word
// for word (semantics 5.1, 5.2, 5.3).
type InvalidError struct {
	Selector string
	cause    error
}

// Error returns kube-apiserver's message.
func (e *InvalidError) Error() string { return e.cause.Error() }

// Unwrap returns the parser's error, or an *UnsupportedFieldError.
func (e *InvalidError) Unwrap() error { return e.cause }

// ShardSyntaxError is returned for a shardSelector outside the part of CEL that this package parses. kube-apiserver
// refuses nearly all such selectors, with a message of its CEL parser.
type ShardSyntaxError struct {
	Selector string
}

// Error returns the common beginning of kube-apiserver's messages, then what this package accepts.
func (e *ShardSyntaxError) Error() string {
	return "invalid shard selector: CEL parse error: " + errShardSyntax.Error()
}

// UnsupportedFieldError is returned for a field that a kind does not offer for selection (semantics 5.3).
type UnsupportedFieldError struct {
	// Field is the label in the request.
	Field   string
	message string
}

// Error returns kube-apiserver's message, which depends on the kind.
func (e *UnsupportedFieldError) Error() string { return e.message }
