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

	"google.golang.org/protobuf/encoding/protowire"
)

// requestLog records the requests of a server's clients and the ends of the answers.
type requestLog struct {
	mu    sync.Mutex     // guards what follows
	ended []exchange     // that have ended
	open  map[string]int // watches that have not, by client
}

func newRequestLog() *requestLog { return &requestLog{open: map[string]int{}} }

// exchange is one request with its client and the end of the answer.
type exchange struct {
	agent, asked string
	code         int
	said         string
}

// around returns a handler that records the requests of another.
func (l *requestLog) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &tailWriter{ResponseWriter: w, code: http.StatusOK}
		agent, _, _ := strings.Cut(r.UserAgent(), "/")
		watches := 0
		if r.URL.Query().Has("watch") {
			watches = 1
		}
		l.count(agent, watches)
		defer func() {
			l.count(agent, -watches)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.ended = append(l.ended, exchange{agent: agent, asked: r.URL.RequestURI(), code: answer.code, said: answer.text()})
		}()
		next.ServeHTTP(answer, r)
	})
}

func (l *requestLog) count(agent string, watches int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[agent] += watches
}

// watching returns the number of open watches of a client.
func (l *requestLog) watching(agent string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[agent]
}

// told returns by client how often an answer, or the last event of a watch, had a code.
func (l *requestLog) told(code int) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]int{}
	for _, v := range l.ended {
		if v.code == code || strings.Contains(v.said, fmt.Sprintf(`"code":%d`, code)) || strings.Contains(v.said, inProtobuf(code)) {
			counts[v.agent]++
		}
	}
	return counts
}

// inProtobuf returns the end of a protobuf watch whose last event has the code: the sixth and last field of a Status,
// and the end of an envelope (semantics 7.4).
func inProtobuf(code int) string {
	field := protowire.AppendVarint(protowire.AppendTag(nil, 6, protowire.VarintType), uint64(code)) //nolint:gosec // HTTP's codes
	return string(field) + "\x1a\x00\"\x00"
}

// print logs every exchange.
func (l *requestLog) print(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.ended {
		t.Logf("%s requested %s and received %d ... %s", v.agent, v.asked, v.code, v.said[max(len(v.said)-200, 0):])
	}
}

// tailWriter forwards an answer and keeps its end.
type tailWriter struct {
	http.ResponseWriter
	code int
	tail []byte
}

// tailLimit is larger than any Status, in bytes.
const tailLimit = 2 << 10

// Unwrap lets http.ResponseController find what the server's own writer can do.
func (w *tailWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *tailWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (w *tailWriter) Write(p []byte) (int, error) {
	w.tail = append(w.tail, p[max(len(p)-tailLimit, 0):]...)
	w.tail = slices.Delete(w.tail, 0, max(len(w.tail)-tailLimit, 0))
	return w.ResponseWriter.Write(p)
}

// gzipMagic begins every member of a compressed stream.
var gzipMagic = []byte{0x1f, 0x8b, 8}

// text returns the end of the decompressed answer.
func (w *tailWriter) text() string {
	if w.Header().Get("Content-Encoding") != "gzip" {
		return string(w.tail)
	}
	reader, err := gzip.NewReader(bytes.NewReader(w.tail[max(bytes.LastIndex(w.tail, gzipMagic), 0):]))
	if err != nil {
		return err.Error()
	}
	text, _ := io.ReadAll(reader) // the upstream's streams have one member only, of which the beginning is gone
	return string(text)
}
