package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/upstream"
)

// documentHeaders are the headers of the upstream that belong to a document rather than to one answer of it.
var documentHeaders = []string{
	"Content-Type", "Content-Encoding", "Accept-Ranges", "Etag", "Last-Modified", "Vary", "Cache-Control", "Expires",
	"X-Content-Type-Options", "Warning",
}

// bodyHeaders are those of them that a 304 leaves out, as net/http does.
var bodyHeaders = []string{"Content-Type", "Content-Encoding", "Accept-Ranges", "Last-Modified"}

// rareConditions are request headers whose meaning net/http works out for kube-apiserver.
var rareConditions = []string{"Range", "If-Range", "If-Match", "If-Modified-Since", "If-Unmodified-Since"}

// conditional tells whether a request asks more than "is it still this one".
func conditional(header http.Header) bool {
	return strings.ContainsAny(header.Get("If-None-Match"), ",*/") ||
		slices.ContainsFunc(rareConditions, func(name string) bool { return header.Get(name) != "" })
}

// describes is the group version that a document is about. kube-apiserver leaves it to an aggregated API's own server,
// in the caller's name, to describe its versions; whatever is above them it gathers in its own name, for all callers.
func describes(path string) (schema.GroupVersion, bool) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(path, "/openapi/v3/"), "/"), "/")
	if parts[0] != "apis" || len(parts) < 3 {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: parts[1], Version: parts[2]}, true
}

// document answers for discovery, OpenAPI and the version from a kept copy of the upstream's answer.
func (s *Server) document(ctx context.Context, out *reply, q *Request, _ *reflector.Reflector) error {
	if q.method != http.MethodGet || conditional(q.header) {
		return forwardFor(observe.Document) // rare; the upstream knows how to answer it
	}
	if gv, ok := describes(q.url.Path); ok && !s.resolver.catalog.Own(ctx, gv) {
		return forwardFor(observe.Document) // what another server says to one caller is not said to the next
	}
	began := q.Event.Waiting(observe.Asking)
	document, err := s.documents.Get(ctx, upstream.DocumentRequest{
		Caller: callerKey(q.Caller), Path: q.url.Path, Query: q.query, Header: q.header,
	})
	q.Event.Waited(observe.Asking, began)
	var oversize *upstream.OversizeError
	if errors.As(err, &oversize) {
		return forwardFor(observe.Document)
	}
	var crowded *upstream.TooManyDocumentsError
	if errors.As(err, &crowded) {
		return &notReadyError{cause: errBusy, after: crowded.After}
	}
	if err != nil {
		return err
	}
	if document.Code != http.StatusOK {
		return forwardFor(observe.OwnWords) // an error or a redirect is not kept; it is the upstream's to say
	}
	q.Event.Source = observe.FromCache
	out.progress.Answering()
	header := out.header()
	for _, name := range documentHeaders {
		if values := document.Header.Values(name); len(values) > 0 {
			header[name] = values
		}
	}
	if tag := document.Header.Get("Etag"); tag != "" && q.header.Get("If-None-Match") == tag {
		for _, name := range bodyHeaders {
			header.Del(name)
		}
		out.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	sink := out.pieces()
	for piece := range slices.Chunk(document.Body, documentPiece) {
		if _, err := sink.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// documentPiece is how much of a document a client has to accept at a time.
const documentPiece = 128 << 10
