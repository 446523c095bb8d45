package facade

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/upstream"
)

// journalDocuments writes documents to the journal, for "listfacade replay": discovery, the version and the definitions
// of custom resources. It copies the responses to the facade's own requests, so that the documents cost few requests. A
// disk that hangs does not delay the responses. Documents that wait for the disk take at most mostPending bytes. While
// this process does not write the journal, no document is kept. Documents that were not kept are read again later. Safe
// for concurrent use.
type journalDocuments struct {
	prefix  string                  // path of the upstream's address
	journal func() *journal.Journal // returns nil while this process does not write the journal
	refresh func(context.Context) error
	read    func(ctx context.Context, path string) error // reads a missed document again, through documentTap
	log     *zap.Logger

	mu      sync.Mutex                  // guards the fields below
	cluster string                      // UID of the cluster; empty until it was received
	pending map[string]journal.Document // by path
	missed  map[string]bool             // paths of documents that were not kept
	grouped bool                        // whether discovery has one document for all groups
}

const (
	// documentsEvery is the interval of writes, and discoveryEvery the interval at which discovery is read again.
	documentsEvery = 5 * time.Second
	discoveryEvery = time.Minute
	// largestDocument bounds a recorded document, in bytes. Discovery of 10,000 definitions has 7 MB.
	largestDocument = 16 << 20
	// mostPending bounds the documents that wait to be written, in bytes.
	mostPending = 2 * largestDocument
)

const (
	clusterPath     = "/api/v1/namespaces/kube-system"
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
	aggregatedKind  = "APIGroupDiscoveryList"
)

func newJournalDocuments(open func() *journal.Journal, log *zap.Logger) *journalDocuments {
	return &journalDocuments{journal: open, log: log, pending: map[string]journal.Document{}, missed: map[string]bool{}}
}

// recorded returns a configuration whose client records documents. Without a journal it returns config.
func (f *Facade) recorded(config *rest.Config) *rest.Config {
	if f.config.JournalDir == "" {
		return config
	}
	f.documents = newJournalDocuments(func() *journal.Journal { return f.lanes.Journal() }, f.log)
	f.documents.refresh = func(ctx context.Context) error { return f.catalog.Refresh(ctx) }
	f.documents.read = func(ctx context.Context, path string) error {
		_, err := f.client.Get(ctx, upstream.Target{Path: path}, acceptOf(path), largestDocument)
		return err
	}
	return f.documents.observed(config)
}

// documentsWait bounds the time in which the last documents are written when the process ends, because a disk may hang.
const documentsWait = 5 * time.Second

// writeDocuments writes documents to the journal until the context ends. The caller then calls wait, which waits for
// the last documents for at most documentsWait.
func (f *Facade) writeDocuments(ctx context.Context) (wait func()) {
	if f.documents == nil {
		return func() {}
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		f.documents.run(ctx)
	}()
	return func() {
		select {
		case <-written:
		case <-time.After(documentsWait):
		}
	}
}

func (d *journalDocuments) observed(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if base, _, err := rest.DefaultServerUrlFor(config); err == nil { // otherwise the client cannot be created
		d.prefix = strings.TrimSuffix(base.Path, "/")
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return documentTap{next, d} })
	return config
}

func (d *journalDocuments) run(ctx context.Context) {
	write, read := time.NewTicker(documentsEvery), time.NewTicker(discoveryEvery)
	defer write.Stop()
	defer read.Stop()
	w := &documentWriter{}
	defer w.close()
	for {
		select {
		case <-write.C:
			d.readMissed(ctx)
		case <-read.C:
			_ = d.refresh(ctx) // an outage of the upstream is logged elsewhere
		case <-ctx.Done():
			d.write(context.WithoutCancel(ctx), w)
			return
		}
		d.write(ctx, w)
	}
}

// write writes the pending documents. Those that cannot be written remain pending.
func (d *journalDocuments) write(ctx context.Context, w *documentWriter) {
	open := d.journal()
	cluster, pending := d.waiting()
	if open == nil || cluster == "" {
		return
	}
	w.use(open, cluster)
	var failure error
	for _, document := range pending {
		if err := w.Put(ctx, document); err != nil {
			failure = err
		} else {
			d.written(document)
		}
	}
	if failure != nil && !w.failed {
		d.log.Warn("Failed to write documents to the journal; will retry", zap.Error(failure))
	}
	w.failed = failure != nil
}

func (d *journalDocuments) waiting() (cluster string, pending map[string]journal.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cluster, maps.Clone(d.pending)
}

// written removes a document from pending, unless pending has a newer one.
func (d *journalDocuments) written(document journal.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending[document.Path].Time.Equal(document.Time) {
		delete(d.pending, document.Path)
	}
}

func (d *journalDocuments) readMissed(ctx context.Context) {
	missed := d.takeMissed()
	for path := range missed {
		if err := d.read(ctx, path); err != nil && !upstream.HasCode(err, http.StatusNotFound) {
			break // a later call reads the rest
		}
		delete(missed, path)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.missed, missed)
}

// takeMissed removes and returns the paths in missed. Without a journal, or while documents are pending, it does
// nothing.
func (d *journalDocuments) takeMissed() (missed map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.journal() != nil && len(d.pending) == 0 {
		missed, d.missed = d.missed, map[string]bool{}
	}
	return missed
}

// receive records a response of the upstream. If the document has no Body, or the pending documents would exceed
// mostPending, the path of the document is added to missed.
func (d *journalDocuments) receive(document journal.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch document.Path {
	case clusterPath:
		var namespace struct{ Metadata struct{ UID string } }
		if json.Unmarshal(document.Body, &namespace) == nil && namespace.Metadata.UID != "" {
			d.cluster = namespace.Metadata.UID
		}
		return
	case "/apis":
		d.grouped = strings.Contains(document.MediaType, aggregatedKind)
	}
	delete(d.pending, document.Path)
	bytes := cap(document.Body)
	for _, other := range d.pending {
		bytes += cap(other.Body)
	}
	if document.Body == nil || bytes > mostPending {
		d.missed[document.Path] = true
	} else {
		d.pending[document.Path] = document
	}
}

// documentWriter writes the documents of one cluster to one journal. Used by one goroutine.
type documentWriter struct {
	*journal.Documents
	to      *journal.Journal
	cluster string
	failed  bool // whether the last write failed
}

func (w *documentWriter) use(to *journal.Journal, cluster string) {
	if w.Documents != nil && w.to == to && w.cluster == cluster {
		return
	}
	w.close()
	w.Documents, w.to, w.cluster = to.Documents(cluster), to, cluster
}

func (w *documentWriter) close() {
	if w.Documents != nil {
		_ = w.Close() // a segment without an end block is valid
	}
}
