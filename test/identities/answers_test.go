package identities

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// expect returns an error unless the answer has one of the codes.
func expect(answer *testkit.Answer, codes ...int) error {
	if slices.Contains(codes, answer.Code) {
		return nil
	}
	return fmt.Errorf("code %d, want %v: %s", answer.Code, codes, head(answer.Body))
}

func head(body []byte) []byte { return body[:min(len(body), 300)] }

// get requests a path from both servers, and checks that the answers are equal and have the code.
func get(t *testing.T, o *testkit.Oracle, code int, path string) *testkit.Answer {
	t.Helper()
	return compare(t, o, code, testkit.Question{Path: path})
}

func compare(t *testing.T, o *testkit.Oracle, code int, q testkit.Question) *testkit.Answer {
	t.Helper()
	answer := o.Compare(t, q)
	if err := expect(answer, code); err != nil {
		t.Errorf("%s: %v", q, err)
	}
	return answer
}

// stream opens a watch with a timeout on both servers, and checks that both send the same.
func stream(t *testing.T, o *testkit.Oracle, q testkit.Question) {
	t.Helper()
	diff, err := o.StreamDifference(t.Context(), q)
	if err != nil || diff != "" {
		t.Errorf("%s: %v\n%s", q, err, diff)
	}
}

// watcher records which canaries answers contain.
type watcher struct {
	mu   sync.Mutex // guards seen
	seen map[string]testkit.Question
}

func (w *watcher) see(q testkit.Question, answer *testkit.Answer) {
	for _, canary := range canaries {
		if bytes.Contains(answer.Body, []byte(canary)) {
			w.mu.Lock()
			w.seen[canary] = q
			w.mu.Unlock()
		}
	}
}

// watches starts a watcher of a server's answers.
func watches(asker *testkit.Asker) *watcher {
	w := &watcher{seen: map[string]testkit.Question{}}
	asker.Seen = w.see
	return w
}

// saw checks that the answers contained exactly these canaries.
func (w *watcher) saw(t *testing.T, server string, want []string) {
	t.Helper()
	for _, canary := range canaries {
		switch q, seen := w.seen[canary]; {
		case seen && !slices.Contains(want, canary):
			t.Errorf("%s shows %s: %s", server, canary, q)
		case !seen && slices.Contains(want, canary):
			t.Errorf("%s never shows %s", server, canary)
		}
	}
}

func withoutSecrets(canaries []string) []string {
	return slices.DeleteFunc(slices.Clone(canaries), func(canary string) bool { return strings.Contains(canary, "secret") })
}

// Status bodies of the facade's own refusals.
const (
	noSuchMethod = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}` + "\n"
	unauthorized = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}` + "\n"
)

// writes are the methods that are not reads.
var writes = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace, "PROPFIND", "get"}
