package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/files"
)

// answering returns a server with one response for each media type.
func answering(t *testing.T, answers map[string]string) *server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		_, _ = w.Write([]byte(answers[r.Header.Get("Accept")]))
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	made, err := newServer("test", 0, &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestRecordComparesEachQuestionOnce(t *testing.T) {
	list := func(mediaType string) load {
		return load{question: question{path: "/api/v1/pods", accept: mediaType, encoding: "identity", protocol: http2}}
	}
	answers := map[string]string{jsonType: podList, tableType: podList}
	direct := answering(t, answers)
	s := &stage{
		pair: pair{direct: direct, facade: answering(t, map[string]string{jsonType: podList, tableType: podList + " "})},
		same: map[asked]bool{}, files: &fileServer{answers: files.Directory(t.TempDir())},
	}
	if n, err := s.record(t.Context(), "one", list(jsonType)); n != 1 || err != nil {
		t.Fatalf("got %d responses, %v, want 1", n, err)
	}
	if got, err := os.ReadFile(filepath.Join(string(s.files.answers), files.Path("one", 0))); string(got) != podList {
		t.Errorf("got %q, %v from the file server, want the recorded list", got, err)
	}
	_, err := s.record(t.Context(), "two", list(tableType)) // same path, but another question
	if _, ok := errors.AsType[*answerError](err); !ok {
		t.Errorf("got %v, want an answerError for a wrong response", err)
	}
	delete(answers, jsonType)
	if _, err := s.record(t.Context(), "three", list(jsonType)); err != nil {
		t.Errorf("compared the same question again: %v", err)
	}
}
