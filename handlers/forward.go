package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// connectSubresources are reads in name only: a GET of them opens a connection into a node or a container.
var connectSubresources = sets.New("exec", "attach", "portforward", "proxy")

// forward lets the upstream answer.
func (s *Server) forward(w http.ResponseWriter, r *http.Request) error {
	info, err := resolver.NewRequestInfo(r)
	if err == nil && connectSubresources.Has(info.Subresource) || err == nil && info.Verb == "proxy" {
		return errMethod
	}
	trailOf(r).source = sourceUpstream
	if err := s.clearDeadline(w, r); err != nil {
		return err
	}
	// The upstream's own headers are the answer; ours would stand beside them.
	for _, name := range ownHeaders {
		w.Header().Del(name)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(s.Draining, func() {
		if err == nil && info.Verb == verbWatch {
			cancel() // a watch would outlast the shutdown
		}
	})
	defer stop()
	return s.Upstream.Serve(w, r.WithContext(ctx))
}

// ownHeaders are set on every answer, and are in every answer of the upstream too.
var ownHeaders = []string{"Audit-Id", "Cache-Control"}

// clearDeadline lifts the write deadline for an answer whose pace is the upstream's.
func (s *Server) clearDeadline(w http.ResponseWriter, _ *http.Request) error {
	return http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

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
