package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// errDifferent says that something differs.
	errDifferent = errors.New("the facade does not have what kube-apiserver has")
	// errIncomplete says that something could not be compared.
	errIncomplete = errors.New("not everything could be compared")
)

// Error is why a comparison did not end well.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is the one of the process: 1 where something differs, 2 where it is not known.
func (e *Error) ExitCode() int {
	if errors.Is(e.Err, errDifferent) {
		return 1
	}
	return 2
}

// refusal is an answer that is no list.
type refusal struct {
	who        string // answered
	code       int
	retryAfter string // the header
	body       []byte
}

func (e *refusal) Error() string {
	var status metav1.Status
	reason := string(e.body[:min(len(e.body), 200)])
	if json.Unmarshal(e.body, &status) == nil && status.Message != "" {
		reason = status.Message
	}
	return fmt.Sprintf("%s says %d: %s", e.who, e.code, strconv.QuoteToGraphic(reason))
}

// hasCode tells whether err is an answer with one of the codes.
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
