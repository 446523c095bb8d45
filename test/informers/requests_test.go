package informers

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// visit is one request: who asked, what for, and the end of the answer.
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

// told counts by client how often an answer, or the last event of a watch, had a code.
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
		t.Logf("%s asked %s and was told %d ... %s", v.agent, v.asked, v.code, v.said[max(len(v.said)-200, 0):])
	}
}

// hearing passes an answer on and keeps its end.
type hearing struct {
	http.ResponseWriter
	code int
	tail []byte
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
	h.tail = append(h.tail, p[max(len(p)-hearingLimit, 0):]...)
	h.tail = slices.Delete(h.tail, 0, max(len(h.tail)-hearingLimit, 0))
	return h.ResponseWriter.Write(p)
}

// gzipMagic begins every member of a compressed stream.
var gzipMagic = []byte{0x1f, 0x8b, 8}

// text is the end of the answer as the client reads it.
func (h *hearing) text() string {
	if h.Header().Get("Content-Encoding") != "gzip" {
		return string(h.tail)
	}
	reader, err := gzip.NewReader(bytes.NewReader(h.tail[max(bytes.LastIndex(h.tail, gzipMagic), 0):]))
	if err != nil {
		return err.Error()
	}
	text, _ := io.ReadAll(reader) // the upstream's streams have one member only, of which the beginning is gone
	return string(text)
}
