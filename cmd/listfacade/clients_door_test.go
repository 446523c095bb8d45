package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// door notes what the clients of a server ask and are told.
type door struct {
	mu     sync.Mutex     // guards what follows
	visits []visit        // that have ended
	inside map[string]int // watches that have not, by client
}

func newDoor() *door { return &door{inside: map[string]int{}} }

// visit is one request: who asked, what for, and the beginning of the answer.
type visit struct {
	agent, asked string
	code         int
	said         string
}

// before stands in front of a handler.
func (d *door) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard := &hearing{ResponseWriter: w, code: http.StatusOK}
		agent, _, _ := strings.Cut(r.UserAgent(), "/")
		watches := 0
		if r.URL.Query().Has("watch") {
			watches = 1
		}
		d.count(agent, watches)
		defer func() {
			d.count(agent, -watches)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.visits = append(d.visits, visit{agent: agent, asked: r.URL.RequestURI(), code: heard.code, said: heard.text()})
		}()
		next.ServeHTTP(heard, r)
	})
}

func (d *door) count(agent string, watches int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside[agent] += watches
}

// watching is how many watches of a client have not ended.
func (d *door) watching(agent string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside[agent]
}

// told counts by client how often an answer, or an event at the beginning of a watch, had a code.
func (d *door) told(code int) map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := map[string]int{}
	for _, v := range d.visits {
		if v.code == code || strings.Contains(v.said, fmt.Sprintf(`"code":%d`, code)) {
			counts[v.agent]++
		}
	}
	return counts
}

// print logs every visit.
func (d *door) print(t *testing.T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.visits {
		t.Logf("%s asked %s and was told %d %.200s", v.agent, v.asked, v.code, v.said)
	}
}

// hearing passes an answer on and keeps its beginning.
type hearing struct {
	http.ResponseWriter
	code int
	head bytes.Buffer
}

// hearingLimit is more than any Status has, in bytes.
const hearingLimit = 2 << 10

// Unwrap lets http.ResponseController find what the server's own writer can do.
func (h *hearing) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (h *hearing) WriteHeader(code int) {
	h.code = code
	h.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (h *hearing) Write(p []byte) (int, error) {
	h.head.Write(p[:min(len(p), hearingLimit-h.head.Len())])
	return h.ResponseWriter.Write(p)
}

// text is the beginning of the answer as the client reads it.
func (h *hearing) text() string {
	if h.Header().Get("Content-Encoding") != "gzip" {
		return h.head.String()
	}
	reader, err := gzip.NewReader(&h.head)
	if err != nil {
		return err.Error()
	}
	text, _ := io.ReadAll(reader) // what was kept may break off anywhere
	return string(text)
}
