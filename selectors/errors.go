package selectors

import "errors"

// ErrNameMismatch says that a request names one object in its path and another in its field selector. kube-apiserver
// answers 400 BadRequest with this very text (semantics 5.5).
var ErrNameMismatch = errors.New("fieldSelector metadata.name doesn't match requested name")

// InvalidError says that a selector was refused. Its text is the message of kube-apiserver's 400 BadRequest, word for
// word (semantics 5.1, 5.2, 5.3).
type InvalidError struct {
	// Selector is the refused text.
	Selector string
	cause    error
}

// Error returns kube-apiserver's message.
func (e *InvalidError) Error() string { return e.cause.Error() }

// Unwrap returns the parser's error, or an *UnsupportedFieldError.
func (e *InvalidError) Unwrap() error { return e.cause }

// UnsupportedFieldError says that a kind does not offer a field for selection (semantics 5.3).
type UnsupportedFieldError struct {
	// Field is the label that the request asked for.
	Field   string
	message string
}

// Error returns kube-apiserver's message; its wording depends on the kind.
func (e *UnsupportedFieldError) Error() string { return e.message }
