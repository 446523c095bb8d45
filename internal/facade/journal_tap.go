package facade

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/discovery"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/upstream"
)

type documentTap struct {
	next http.RoundTripper
	to   *journalDocuments
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t documentTap) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t documentTap) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "" ||
		!t.to.records(r) {
		return response, err
	}
	document := journal.Document{Path: t.to.path(r), MediaType: response.Header.Get("Content-Type"), Time: time.Now()}
	if t.to.journal() == nil && document.Path != clusterPath {
		t.to.receive(document)
	} else {
		response.Body = &copiedBody{ReadCloser: response.Body, to: t.to, document: document}
	}
	return response, nil
}

// copiedBody passes its document to journalDocuments when the body was read completely.
type copiedBody struct {
	io.ReadCloser
	to       *journalDocuments
	document journal.Document
	body     bytes.Buffer
}

func (b *copiedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.body.Len() <= largestDocument {
		b.body.Write(p[:n])
	}
	if n := b.body.Len(); errors.Is(err, io.EOF) && n > 0 && n <= largestDocument && b.to != nil {
		b.document.Body = b.body.Bytes()
		b.to.receive(b.document)
		b.to = nil
	}
	return n, err
}

func (d *journalDocuments) records(r *http.Request) bool {
	if r.Method != http.MethodGet || r.URL.RawQuery != "" || r.Header.Get("User-Agent") != upstream.UserAgent {
		return false
	}
	path := d.path(r)
	switch {
	case r.Header.Get("Accept") != acceptOf(path): // another representation, requested for a client
	case path == "/api", path == "/apis", path == "/version", path == clusterPath,
		strings.HasPrefix(path, definitionsPath):
		return true
	case isGroupVersion(path):
		d.mu.Lock()
		defer d.mu.Unlock()
		return !d.grouped
	}
	return false
}

// acceptOf returns the Accept header with which the facade itself reads a path.
func acceptOf(path string) string {
	if path == "/api" || path == "/apis" {
		return discovery.Accept
	}
	return upstream.MediaJSON
}

func (d *journalDocuments) path(r *http.Request) string {
	return strings.TrimPrefix(r.URL.Path, d.prefix)
}

func isGroupVersion(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) == 3 && parts[1] == "api" || len(parts) == 4 && parts[1] == "apis"
}
