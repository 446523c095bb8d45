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
	// documentFresh is how long a document is served without asking again; discovery must follow a new CRD closely.
	documentFresh = time.Second
	// documentLimit bounds one document in bytes: the OpenAPI of a cluster with thousands of CRDs is tens of MB. What
	// is larger is not kept.
	documentLimit = 64 << 20
	// documentBudget bounds all kept documents in bytes, over all their forms, and oddBudget those of odd forms.
	documentBudget = 224 << 20
	oddBudget      = 32 << 20
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
// asked for, they take a bounded memory, and no more than 32 are asked for at a time, 16 of them for one caller. Odd
// forms (documentRepresentation) push out no others, and each caller has one a second asked for.
type Documents struct {
	client    *Client
	flights   *flights
	kept, odd *documentStore
	oddities  *limit.Rates        // by caller
	reading   *semaphore.Weighted // bytes
}

// NewDocuments keeps documents of the client's upstream.
func NewDocuments(client *Client) *Documents {
	return &Documents{
		client: client, flights: newFlights(documentSeats), kept: newDocumentStore(documentBudget), odd: newDocumentStore(oddBudget),
		oddities: limit.NewRates(limit.Rate{PerSecond: 1, Burst: 20}), reading: semaphore.NewWeighted(readingBudget),
	}
}

// DocumentRequest asks for a document.
type DocumentRequest struct {
	Caller limit.Key // whose turn it is
	Path   string
	Query  url.Values
	Header http.Header
}

// document is one form of a document, and where it is kept.
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
	return document{target: Target{Path: r.Path, Query: representation.query(hash)}, representation: representation, key: representation.key(r.Path, hash), store: store}
}

// Get returns the upstream's answer to a GET of the path, the query and the headers. While the upstream cannot be
// reached, a kept document is returned however old it is: a client that cannot discover can read nothing. It fails with
// *OversizeError for what there is no room to keep, which is to be passed through, and with *TooManyDocumentsError when
// it was not the caller's turn for ten seconds, or too many odd forms are asked for.
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

// ask asks for a document together with all others who do. What is kept of it, if anything, is the answer when the
// upstream gives none in time.
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
	case <-flight.over:
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

// renew keeps a document for another second, unless there is a newer one.
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
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err // without the client's query, which would be logged
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
