package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// documentFresh is how long a document is served without asking again; discovery must follow a new CRD closely.
	documentFresh = time.Second
	// documentLimit bounds one document in bytes: the OpenAPI of a cluster with thousands of CRDs is tens of MB.
	documentLimit = 256 << 20
	// documentBudget bounds all kept documents in bytes.
	documentBudget = 512 << 20
	// documentOverhead is about what a kept document costs in bytes besides its body and key: its headers, in a map.
	documentOverhead = 2 << 10
	documentWait     = 30 * time.Second
	// documentPatience is how long the upstream may take when there is a kept document to answer with.
	documentPatience = 3 * time.Second
)

// Document is an answer of the upstream that describes the upstream itself: discovery, OpenAPI, its version. Immutable.
type Document struct {
	Code   int
	Header http.Header
	Body   []byte
	read   time.Time
}

// Documents keeps the upstream's documents. A document older than a second is revalidated by its ETag, so that in
// steady state a thousand clients cost the upstream one 304 per second.
type Documents struct {
	client *Client
	flight singleflight.Group

	mu    sync.Mutex // guards kept and bytes
	kept  map[string]*Document
	bytes int
}

// NewDocuments keeps documents of the client's upstream.
func NewDocuments(client *Client) *Documents {
	return &Documents{client: client, kept: map[string]*Document{}}
}

// documentVary are the request headers that an answer may depend on.
var documentVary = []string{"Accept", "Accept-Encoding", "User-Agent"}

// Get returns the upstream's answer to a GET of the path and the query, with these request headers. While the upstream
// cannot be reached, a kept document is returned however old it is: a client that cannot discover can read nothing.
func (d *Documents) Get(ctx context.Context, path string, query url.Values, header http.Header) (*Document, error) {
	key := documentKey(path, query, header)
	kept := d.lookup(key)
	if kept != nil && time.Since(kept.read) < documentFresh {
		return kept, nil
	}
	done := d.flight.DoChan(key, func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), documentWait)
		defer cancel()
		return d.fetch(detached, key, Target{Path: path, Query: query}, header, kept)
	})
	var late <-chan time.Time
	if kept != nil {
		patience := time.NewTimer(documentPatience)
		defer patience.Stop()
		late = patience.C
	}
	select {
	case result := <-done:
		if result.Err == nil {
			return result.Val.(*Document), nil
		}
		if kept != nil {
			d.renew(key, kept)
			return kept, nil
		}
		return nil, result.Err
	case <-late:
		d.renew(key, kept)
		return kept, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// renew keeps a document for another second, unless there is a newer one.
func (d *Documents) renew(key string, kept *Document) *Document {
	renewed := *kept
	renewed.read = time.Now()
	if d.lookup(key) == kept {
		d.keep(key, &renewed)
	}
	return &renewed
}

// documentKey names what an answer depends on. Of the user agent only matters whether the upstream would indent for it
// (semantics 6.8), but it is the upstream that decides, so the part before the version is kept.
func documentKey(path string, query url.Values, header http.Header) string {
	var b strings.Builder
	b.WriteString(path + "?" + query.Encode())
	for _, name := range documentVary {
		value := header.Get(name)
		if name == "User-Agent" {
			value, _, _ = strings.Cut(value, "/")
		}
		b.WriteString("\x00" + value)
	}
	return b.String()
}

func (d *Documents) lookup(key string) *Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept[key]
}

func (d *Documents) fetch(ctx context.Context, key string, t Target, header http.Header, kept *Document) (*Document, error) {
	request, err := d.client.request(ctx, t, "")
	if err != nil {
		return nil, err
	}
	for _, name := range documentVary {
		request.Header.Del(name)
		if value := header.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	if kept != nil && kept.Header.Get("Etag") != "" {
		request.Header.Set("If-None-Match", kept.Header.Get("Etag"))
	}
	response, err := d.client.http.Do(request)
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err // without the client's query, which would be logged
	}
	if err != nil {
		return nil, &UnreachableError{Err: err}
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && kept != nil {
		return d.renew(key, kept), nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, documentLimit+1))
	if err != nil {
		return nil, &UnreachableError{Err: err}
	}
	if len(body) > documentLimit {
		return nil, fmt.Errorf("the upstream's document %s exceeds %d bytes", t.Path, documentLimit)
	}
	document := &Document{Code: response.StatusCode, Header: response.Header, Body: bytes.Clone(body), read: time.Now()}
	if response.StatusCode == http.StatusOK {
		d.keep(key, document)
	}
	return document, nil
}

// keep stores a document. Over the budget everything is forgotten: the documents in use come back with the next
// request, and which ones those are need not be tracked.
func (d *Documents) keep(key string, document *Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.kept[key]; old != nil {
		d.bytes -= old.size(key)
	}
	if d.bytes+document.size(key) > documentBudget {
		clear(d.kept)
		d.bytes = 0
	}
	d.kept[key] = document
	d.bytes += document.size(key)
}

// size is about what a kept document costs in bytes.
func (d *Document) size(key string) int { return len(d.Body) + len(key) + documentOverhead }
