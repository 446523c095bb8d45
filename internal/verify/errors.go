package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	var status metav1.Status
	reason := string(e.body[:min(len(e.body), 200)])
	if json.Unmarshal(e.body, &status) == nil && status.Message != "" {
		reason = status.Message
	}
	return fmt.Sprintf("%s returned %d: %s", e.server, e.code, strconv.QuoteToGraphic(reason))
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
