package handlers

import (
	"net/http"
)

// documentHeaders are the headers of the upstream that belong to a document rather than to one answer of it.
var documentHeaders = []string{
	"Content-Type", "Content-Encoding", "Etag", "Last-Modified", "Vary", "Cache-Control", "Expires", "X-Content-Type-Options", "Warning",
}

// document answers for discovery, OpenAPI and the version from a kept copy of the upstream's answer.
func (s *Server) document(w http.ResponseWriter, r *http.Request) error {
	// A range or a condition on time is rare; the upstream knows how to answer it.
	if r.Method != http.MethodGet || r.Header.Get("Range") != "" || r.Header.Get("If-Modified-Since") != "" {
		return s.forward(w, r)
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
		header.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, err = w.Write(document.Body)
	return err
}
