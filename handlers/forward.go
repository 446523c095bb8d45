package handlers

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/upstream"
)

// connectSubresources are reads in name only: a GET of them opens a connection into a node or a container.
var connectSubresources = sets.New("exec", "attach", "portforward", "proxy")

// ownHeaders are set on every answer, and are in every answer of the upstream too.
var ownHeaders = []string{"Audit-Id", "Cache-Control"}

// bulkForwards is how many lists without a limit the upstream is asked for at a time. A storm of them is what the cache is
// there to keep away from it, also when the cache cannot answer.
const bulkForwards = 8

// bulkWait is how long one waits for its turn: most are small and take milliseconds.
const bulkWait = time.Second

// forward lets the upstream answer.
func (s *Server) forward(w http.ResponseWriter, r *http.Request) error {
	info, err := resolver.NewRequestInfo(r)
	if err != nil {
		info = &request.RequestInfo{} // the upstream says what is wrong with it
	}
	if connectSubresources.Has(info.Subresource) || info.Verb == "proxy" {
		return errMethod
	}
	if isBulk(info, r) {
		if err := s.awaitBulk(r.Context()); err != nil {
			return err
		}
		defer s.bulk.Release(1)
	}
	trailOf(r).source = sourceUpstream
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	if info.Verb == verbWatch { // which would outlast the shutdown; a client resumes what ended, and lists again what broke off
		stop := context.AfterFunc(s.Draining, func() { cancel(upstream.ErrEnd) })
		defer stop()
		if isUpgrade(r) {
			if done, err := s.forwardSocket(w, r.WithContext(ctx)); done || err != nil {
				return err
			}
		}
	}
	// The upstream's own headers are the answer; ours would stand beside them.
	header, own := w.Header(), http.Header{}
	for _, name := range ownHeaders {
		own[name] = header[name]
		header.Del(name)
	}
	paced := &pacedWriter{ResponseWriter: w, sink: &timedWriter{w: w, control: http.NewResponseController(w), timeout: s.WriteTimeout}}
	if err := s.Upstream.Serve(paced, r.WithContext(ctx)); err != nil {
		maps.Copy(header, own)
		return err
	}
	return paced.sink.release()
}

// awaitBulk takes a place among the lists that are forwarded at a time; the caller releases it.
func (s *Server) awaitBulk(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, bulkWait)
	defer cancel()
	if s.bulk.Acquire(waiting, 1) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &notReadyError{cause: errBusy}
}

// isBulk tells a list that may be of any size.
func isBulk(info *request.RequestInfo, r *http.Request) bool {
	limit := r.URL.Query().Get("limit")
	return info.Verb == verbList && info.Name == "" && (limit == "" || limit == "0")
}

// errBusy stands for more bulk lists than are forwarded at a time.
var errBusy = errors.New("too many lists at once")

// pacedWriter holds a client to the write timeout while it is sent the upstream's answer.
type pacedWriter struct {
	http.ResponseWriter
	sink *timedWriter
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) { return p.sink.Write(b) }

// FlushError lets http.ResponseController flush.
func (p *pacedWriter) FlushError() error { return p.sink.Flush() }

// isDocument tells the paths that are answered from kept copies of the upstream's answers.
func isDocument(path string) bool {
	switch path {
	case "/api", "/apis", "/version", "/version/", "/openapi/v2", "/openapi/v3", "/api/", "/apis/":
		return true
	}
	if strings.HasPrefix(path, "/openapi/v3/") {
		return true
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return (parts[0] == "api" && len(parts) == 2) || (parts[0] == "apis" && len(parts) <= 3)
}
