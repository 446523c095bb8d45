package testkit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

func TestRecorder(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, mark(7)+"\n")
		switch r.URL.Path {
		case "/ends":
		case "/breaks":
			_, _ = io.WriteString(w, `{"type":`)
		case "/grows":
			_ = http.NewResponseController(w).Flush()
			<-release
			_, _ = io.WriteString(w, mark(8)+"\n")
		default:
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	asker, err := NewAsker(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if r := asker.MustRecord(t, Question{Path: "/ends"}).Ended(t); r.Err != nil || r.Reached() != 7 || r.Code != http.StatusOK {
		t.Errorf("ends: %v, %s", r.Err, r)
	}
	if r := asker.MustRecord(t, Question{Path: "/breaks"}).Ended(t); !errors.Is(r.Err, io.ErrUnexpectedEOF) {
		t.Errorf("breaks: %v, %s", r.Err, r)
	}
	grows := asker.MustRecord(t, Question{Path: "/grows"})
	grows.Until(t, "the first frame", func(r *Recording) bool { return len(r.Frames) == 1 })
	close(release)
	grows.Until(t, "the second", func(r *Recording) bool { return r.Reached() == 8 })
	open := asker.MustRecord(t, Question{Path: "/open"})
	open.Until(t, "the first frame", func(r *Recording) bool { return len(r.Frames) == 1 })
	if r := open.Close(); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("closed: %v", r.Err)
	}
}
