package handlers

import (
	"net/http"
	"slices"
	"strings"
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

// document answers for discovery, OpenAPI and the version from a kept copy of the upstream's answer.
func (s *Server) document(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet || conditional(r.Header) {
		return s.forward(w, r) // rare; the upstream knows how to answer it
	}
	document, err := s.Documents.Get(r.Context(), r.URL.Path, r.URL.Query(), r.Header)
	if err != nil {
		return err
	}
	if document.Code != http.StatusOK {
		return s.forward(w, r) // an error or a redirect is not kept; it is the upstream's to say
	}
	trailOf(r).source = sourceCache
	header := w.Header()
	for _, name := range documentHeaders {
		if values := document.Header.Values(name); len(values) > 0 {
			header[name] = values
		}
	}
	if tag := document.Header.Get("Etag"); tag != "" && r.Header.Get("If-None-Match") == tag {
		for _, name := range bodyHeaders {
			header.Del(name)
		}
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, err = w.Write(document.Body)
	return err
}
