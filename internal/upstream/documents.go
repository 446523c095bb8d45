package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// documentFresh is how long a document is served without asking again; discovery must follow a new CRD closely.
	documentFresh = time.Second
	// documentLimit bounds one document in bytes: the OpenAPI of a cluster with thousands of CRDs is tens of MB. What
	// is larger is not kept.
	documentLimit = 64 << 20
	// documentBudget bounds all kept documents in bytes, over all their forms.
	documentBudget = 256 << 20
	// readingBudget bounds in bytes what is read of documents that are not kept yet.
	readingBudget = 128 << 20
	// oversizeFresh is how long a document that was too large is not tried again.
	oversizeFresh = time.Minute
	documentWait  = 30 * time.Second
	// documentPatience is how long the upstream may take when there is a kept document to answer with.
	documentPatience = 3 * time.Second
)

// Document is an answer of the upstream that describes the upstream itself: discovery, OpenAPI, its version. Immutable.
type Document struct {
	Code   int
	Header http.Header
	Body   []byte
	read   time.Time // when the upstream last said so
	// oversize: there is no body, because it is too large to keep.
	oversize bool
}

// Documents keeps the upstream's documents. A document older than a second is revalidated by its ETag, so that in
// steady state a thousand clients cost the upstream one 304 per second. However many forms of how many documents are
// asked for, they take a bounded memory, and no more than 32 are asked for at a time.
type Documents struct {
	client  *Client
	flights *flights
	kept    *documentStore
	reading *semaphore.Weighted // bytes
}

// NewDocuments keeps documents of the client's upstream.
func NewDocuments(client *Client) *Documents {
	return &Documents{
		client: client, flights: newFlights(documentFlights), kept: newDocumentStore(documentBudget),
		reading: semaphore.NewWeighted(readingBudget),
	}
}

// documentVary are the request headers that an answer may depend on.
var documentVary = []string{"Accept", "Accept-Encoding", "User-Agent"}

// Get returns the upstream's answer to a GET of the path and the query, with these request headers. While the upstream
// cannot be reached, a kept document is returned however old it is: a client that cannot discover can read nothing. It
// fails with *OversizeError for what there is no room to keep, which is to be passed through, and with ErrCrowded when
// for ten seconds there was no place to ask.
func (d *Documents) Get(ctx context.Context, path string, query url.Values, header http.Header) (*Document, error) {
	query = documentQuery(path, query)
	key := documentKey(path, query, header)
	kept := d.kept.get(key)
	switch {
	case kept == nil:
	case kept.oversize && time.Since(kept.read) < oversizeFresh:
		return nil, &OversizeError{Path: path, Limit: documentLimit}
	case kept.oversize:
		kept = nil
	case time.Since(kept.read) < documentFresh:
		return kept, nil
	}
	flight, leave := d.flights.join(ctx, key, func(ctx context.Context) (*Document, error) {
		return d.fetch(ctx, key, Target{Path: path, Query: query}, header, kept)
	})
	defer leave()
	var late <-chan time.Time
	if kept != nil {
		patience := time.NewTimer(documentPatience)
		defer patience.Stop()
		late = patience.C
	}
	select {
	case <-flight.over:
		if flight.err == nil {
			return flight.document, nil
		}
		var oversize *OversizeError
		if kept != nil && !errors.As(flight.err, &oversize) {
			d.renew(key, kept)
			return kept, nil
		}
		return nil, flight.err
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
	if d.kept.get(key) == kept {
		d.kept.put(key, &renewed)
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
	body, err := d.readBody(response.Body, t.Path)
	var oversize *OversizeError
	if errors.As(err, &oversize) && oversize.Limit == documentLimit {
		d.kept.put(key, &Document{oversize: true, read: time.Now()})
	}
	if err != nil {
		return nil, err
	}
	document := &Document{Code: response.StatusCode, Header: response.Header, Body: body, read: time.Now()}
	if response.StatusCode == http.StatusOK && document.named(t.Query) {
		d.kept.put(key, document)
	}
	return document, nil
}

// readBody reads a whole body, if there is room for it at the moment and if it may be kept.
func (d *Documents) readBody(body io.Reader, path string) ([]byte, error) {
	const piece = 64 << 10
	var read bytes.Buffer
	taken := int64(0)
	defer func() { d.reading.Release(taken) }()
	for {
		if !d.reading.TryAcquire(piece) {
			return nil, &OversizeError{Path: path, Limit: taken}
		}
		taken += piece
		_, err := io.CopyN(&read, body, piece)
		switch {
		case read.Len() > documentLimit:
			return nil, &OversizeError{Path: path, Limit: documentLimit}
		case errors.Is(err, io.EOF):
			return bytes.Clone(read.Bytes()), nil
		case err != nil:
			return nil, &UnreachableError{Err: err}
		}
	}
}
