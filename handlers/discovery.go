package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// documentHeaders are the upstream's headers that a copy of the document keeps.
var documentHeaders = []string{
	"Content-Type", "Content-Encoding", "Accept-Ranges", "Etag", "Last-Modified", "Vary", "Cache-Control", "Expires",
	"X-Content-Type-Options", "Warning",
}

// bodyHeaders are the documentHeaders that a 304 does not have, as in net/http.
var bodyHeaders = []string{"Content-Type", "Content-Encoding", "Accept-Ranges", "Last-Modified"}

// rareConditions are the conditional headers other than If-None-Match. kube-apiserver evaluates them with net/http.
var rareConditions = []string{"Range", "If-Range", "If-Match", "If-Modified-Since", "If-Unmodified-Since"}

// conditional reports whether a request has any condition except If-None-Match with a single strong tag.
func conditional(header http.Header) bool {
	return strings.ContainsAny(header.Get("If-None-Match"), ",*/") ||
		slices.ContainsFunc(rareConditions, func(name string) bool { return header.Get(name) != "" })
}

// describes returns the group version below /apis that a document describes; false for all other documents. For an
// aggregated API, the server of that API writes the document and receives the caller's name, so the document may differ
// between callers. All other documents are the same for all callers.
func describes(path string) (schema.GroupVersion, bool) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(path, "/openapi/v3/"), "/"), "/")
	if parts[0] != "apis" || len(parts) < 3 {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: parts[1], Version: parts[2]}, true
}

// document serves discovery, OpenAPI and version documents from copies of the upstream's responses.
func (s *Server) document(ctx context.Context, out *reply, q *Request, _ Lane) (route, error) {
	if q.method != http.MethodGet || conditional(q.header) {
		return forwardFor(observe.Document), nil // such requests are rare, and the upstream supports them
	}
	if gv, ok := describes(q.url.Path); ok && !s.resolver.catalog.Own(ctx, gv) {
		return forwardFor(observe.Document), nil // an aggregated API's server may respond differently to each caller
	}
	began := q.Event.Waiting(observe.Asking)
	document, err := s.documents.Get(ctx, upstream.DocumentRequest{
		Caller: callerKey(q.Caller), Path: q.url.Path, Query: q.query, Header: q.header,
	})
	q.Event.Waited(observe.Asking, began)
	var oversize *upstream.OversizeError
	if errors.As(err, &oversize) {
		return forwardFor(observe.Document), nil
	}
	var busy *upstream.TooManyDocumentsError
	if errors.As(err, &busy) {
		return route{}, tooMany(busy.After)
	}
	if err != nil {
		return route{}, err
	}
	if document.Code != http.StatusOK {
		return forwardFor(observe.OwnWords), nil // errors and redirects are not copied
	}
	return route{}, out.document(q, document)
}

func (o *reply) document(q *Request, document *upstream.Document) error {
	q.Event.Source = observe.FromCache
	o.progress.Answering()
	header := o.header()
	for _, name := range documentHeaders {
		if values := document.Header.Values(name); len(values) > 0 {
			header[name] = values
		}
	}
	if tag := document.Header.Get("Etag"); tag != "" && q.header.Get("If-None-Match") == tag {
		for _, name := range bodyHeaders {
			header.Del(name)
		}
		o.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	sink := o.pieces()
	for piece := range slices.Chunk(document.Body, documentPiece) {
		if _, err := sink.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// documentPiece is the number of bytes that a client must accept within one write timeout.
const documentPiece = 128 << 10
