package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// documentFresh is how long a document is served without revalidation. A new CRD must be visible soon.
	documentFresh = time.Second
	// documentLimit bounds a stored document, in bytes. The OpenAPI of a cluster with thousands of CRDs has tens of MB.
	documentLimit = 64 << 20
	// documentBudget bounds the total size of stored documents, in bytes. Documents in odd representations have a
	// separate limit, oddBudget.
	documentBudget = 224 << 20
	oddBudget      = 32 << 20
	// readingBudget bounds the total size of documents that are being read, in bytes.
	readingBudget = 128 << 20
	// oversizeFresh is the minimum time between two requests for an oversized document.
	oversizeFresh = time.Minute
	documentWait  = 30 * time.Second
	// documentPatience is how long a caller waits for the upstream if there is a stored document to return instead.
	documentPatience = 3 * time.Second
)

// Document is a response in which the upstream describes itself: discovery, OpenAPI or its version. Immutable.
type Document struct {
	Code   int
	Header http.Header
	Body   []byte
	read   time.Time // when the document was last received, confirmed or renewed
	// oversize is set if the document is too large to store. The Body is then empty.
	oversize bool
}

// Documents caches the upstream's documents. It revalidates a document after a second by ETag. If a document does not
// change, a thousand clients of it cost the upstream one 304 response per second. Memory is bounded, however many
// documents and representations clients request. At most 32 requests are sent at a time, at most 16 of them for one
// caller. Odd representations (documentRepresentation) do not evict others, and each caller may request one per second,
// with a burst of 20. Safe for concurrent use.
type Documents struct {
	client    *Client
	flights   *flights
	kept, odd *documentStore
	oddities  *limit.Rates        // limits requests for odd representations, by caller
	reading   *semaphore.Weighted // limits the bytes of documents that are being read
}

// NewDocuments returns an empty cache of documents of the client's upstream.
func NewDocuments(client *Client) *Documents {
	return &Documents{
		client: client, flights: newFlights(documentSeats), kept: newDocumentStore(documentBudget),
		odd:      newDocumentStore(oddBudget),
		oddities: limit.NewRates(limit.Rate{PerSecond: 1, Burst: 20}), reading: semaphore.NewWeighted(readingBudget),
	}
}

// DocumentRequest is a client's request for a document.
type DocumentRequest struct {
	Caller limit.Key // the limits and the queue of this caller apply
	Path   string
	Query  url.Values
	Header http.Header
}

type document struct {
	target         Target
	representation documentRepresentation
	key            string
	store          *documentStore
}

func (d *Documents) document(r DocumentRequest) document {
	representation, hash := representationOf(r.Path, r.Query, r.Header), hashIn(r.Path, r.Query)
	store := d.kept
	if representation.odd {
		store = d.odd
	}
	return document{target: Target{Path: r.Path, Query: representation.query(hash)}, representation: representation,
		key: representation.key(r.Path, hash), store: store}
}

// Get returns the upstream's response to a GET with the path, query and headers. While the upstream cannot be reached,
// it returns a stored document of any age, because clients need discovery for every read. It returns an *OversizeError
// if the document is too large to store; the caller should then forward the request. It returns a
// *TooManyDocumentsError if the request gets no seat within ten seconds, or if the caller sends too many
// unusual Accept headers.
func (d *Documents) Get(ctx context.Context, r DocumentRequest) (*Document, error) {
	wanted := d.document(r)
	kept := wanted.store.get(wanted.key)
	switch {
	case kept == nil:
	case kept.oversize && time.Since(kept.read) < oversizeFresh:
		return nil, &OversizeError{Path: r.Path, Limit: documentLimit}
	case kept.oversize:
		kept = nil
	case time.Since(kept.read) < documentFresh:
		return kept, nil
	}
	if wanted.representation.odd {
		switch after, ok := d.oddities.Take(r.Caller.One); {
		case ok:
		case kept != nil:
			return kept, nil
		default:
			return nil, &TooManyDocumentsError{After: after}
		}
	}
	return d.ask(ctx, r.Caller, wanted, kept)
}

// ask shares one request for a document among all its callers. If the request fails or takes too long, the result may
// be the stored document (kept).
func (d *Documents) ask(ctx context.Context, caller limit.Key, wanted document, kept *Document) (*Document, error) {
	flight, leave := d.flights.join(ctx, wanted.key, caller, func(ctx context.Context) (*Document, error) {
		return d.fetch(ctx, wanted, kept)
	})
	defer leave()
	var late <-chan time.Time
	if kept != nil {
		patience := time.NewTimer(documentPatience)
		defer patience.Stop()
		late = patience.C
	}
	select {
	case <-flight.done:
		if flight.err == nil {
			return flight.document, nil
		}
		var oversize *OversizeError
		if kept != nil && !errors.As(flight.err, &oversize) {
			wanted.renew(kept)
			return kept, nil
		}
		return nil, flight.err
	case <-late:
		wanted.renew(kept)
		return kept, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// renew keeps a document for another second, unless a newer one is stored.
func (w document) renew(kept *Document) *Document {
	renewed := *kept
	renewed.read = time.Now()
	if w.store.get(w.key) == kept {
		w.store.put(w.key, &renewed)
	}
	return &renewed
}

func (d *Documents) fetch(ctx context.Context, wanted document, kept *Document) (*Document, error) {
	request, err := d.client.request(ctx, wanted.target, wanted.representation.accept)
	if err != nil {
		return nil, err
	}
	if wanted.representation.encoding != "" {
		request.Header.Set("Accept-Encoding", wanted.representation.encoding)
	}
	if kept != nil && kept.Header.Get("Etag") != "" {
		request.Header.Set("If-None-Match", kept.Header.Get("Etag"))
	}
	response, err := d.client.http.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // the URL's query must not be logged
	}
	if err != nil {
		return nil, &UnreachableError{Err: err}
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && kept != nil {
		return wanted.renew(kept), nil
	}
	body, err := d.readBody(response.Body, wanted.target.Path)
	var oversize *OversizeError
	if errors.As(err, &oversize) && oversize.Limit == documentLimit {
		wanted.store.put(wanted.key, &Document{oversize: true, read: time.Now()})
	}
	if err != nil {
		return nil, err
	}
	answer := &Document{Code: response.StatusCode, Header: response.Header, Body: body, read: time.Now()}
	if response.StatusCode == http.StatusOK && answer.named(wanted.target.Query) {
		wanted.store.put(wanted.key, answer)
	}
	return answer, nil
}

// readBody reads a complete body of at most documentLimit bytes. It fails if the bodies in progress exceed
// readingBudget.
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
