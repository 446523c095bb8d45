package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var (
	errDifferent  = errors.New("facade and kube-apiserver differ")
	errIncomplete = errors.New("comparison is incomplete")
)

// Error is returned unless everything was compared and is equal.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the exit code of the process: 1 if something differs, 2 if the comparison is incomplete.
func (e *Error) ExitCode() int {
	if errors.Is(e.Err, errDifferent) {
		return 1
	}
	return 2
}

type refusal struct {
	server     string
	code       int
	retryAfter string
	body       []byte
}

func (e *refusal) Error() string {
	reason := string(e.body[:min(len(e.body), 200)])
	if status := statusIn(e.body); status.Message != "" {
		reason = status.Message
	}
	return fmt.Sprintf("%s returned %d: %s", e.server, e.code, strconv.QuoteToGraphic(reason))
}

// statusIn returns the Status in a body, in JSON or protobuf, or an empty Status.
func statusIn(body []byte) (status metav1.Status) {
	var unknown runtime.Unknown
	if content, ok := bytes.CutPrefix(body, []byte("k8s\x00")); ok && unknown.Unmarshal(content) == nil {
		_ = status.Unmarshal(unknown.Raw) // without a message, the caller prints the body
	} else {
		_ = json.Unmarshal(body, &status)
	}
	return status
}

// hasCode reports whether err is a *refusal with one of the status codes.
func hasCode(err error, codes ...int) bool {
	var answer *refusal
	if !errors.As(err, &answer) {
		return false
	}
	for _, code := range codes {
		if answer.code == code {
			return true
		}
	}
	return false
}
