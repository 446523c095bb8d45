package facade

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/journal"
)

// journalDocuments writes to the journal what the facade reads about the upstream for itself: discovery, the version
// and the definitions of custom resources. "listfacade replay" needs them. It takes them from the responses, so that
// they cost the upstream no request, and a disk that hangs delays none. Safe for concurrent use.
type journalDocuments struct {
	prefix  string                  // path of the upstream's base address
	journal func() *journal.Journal // nil while this process does not write the journal
	refresh func(context.Context) error
	log     *zap.Logger

	mu      sync.Mutex // guards the fields below
	cluster string     // UID of the cluster; empty until it was read
	pending map[string]journal.Document
	grouped bool // whether discovery has one document for all groups
}

const (
	// documentsEvery is the interval at which documents are written, and discoveryEvery that at which discovery is read
	// again.
	documentsEvery = 5 * time.Second
	discoveryEvery = time.Minute
	// largestDocument bounds a recorded document, in bytes. Discovery of 10,000 definitions has 7 MB.
	largestDocument = 16 << 20
)

// Paths of recorded responses.
const (
	clusterPath     = "/api/v1/namespaces/kube-system"
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
	aggregatedKind  = "APIGroupDiscoveryList"
)

func newJournalDocuments(open func() *journal.Journal, refresh func(context.Context) error,
	log *zap.Logger) *journalDocuments {
	return &journalDocuments{journal: open, refresh: refresh, log: log, pending: map[string]journal.Document{}}
}

// recorded returns a configuration with which the responses to a client are recorded, if there is a journal.
func (f *Facade) recorded(config *rest.Config) *rest.Config {
	if f.config.JournalDir == "" {
		return config
	}
	f.documents = newJournalDocuments(func() *journal.Journal { return f.lanes.Journal() },
		func(ctx context.Context) error { return f.catalog.Refresh(ctx) }, f.log)
	return f.documents.observed(config)
}

// documentsWait is how long the last documents may take to be written when the process ends. A disk that hangs does not
// keep the process from ending.
const documentsWait = 5 * time.Second

// writeDocuments writes documents to the journal until the context ends. The returned function then waits until the
// last ones are written, at most documentsWait.
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

// observed returns a configuration with which the responses to a client are recorded.
func (d *journalDocuments) observed(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if base, _, err := rest.DefaultServerUrlFor(config); err == nil { // otherwise the client cannot be created
		d.prefix = strings.TrimSuffix(base.Path, "/")
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return documentTap{next, d} })
	return config
}

// run writes the documents until the context ends.
func (d *journalDocuments) run(ctx context.Context) {
	write, read := time.NewTicker(documentsEvery), time.NewTicker(discoveryEvery)
	defer write.Stop()
	defer read.Stop()
	w := &documentWriter{}
	defer w.close()
	for {
		select {
		case <-write.C:
		case <-read.C:
			_ = d.refresh(ctx) // an outage of the upstream is logged elsewhere
		case <-ctx.Done():
			d.write(context.WithoutCancel(ctx), w)
			return
		}
		d.write(ctx, w)
	}
}

// write writes the pending documents. After an error they remain pending.
func (d *journalDocuments) write(ctx context.Context, w *documentWriter) {
	cluster, pending := d.take()
	open := d.journal()
	if open == nil || cluster == "" {
		d.giveBack(pending)
		return
	}
	w.use(open, cluster)
	var failure error
	for path, document := range pending {
		if err := w.Put(ctx, document); err != nil {
			failure = err
		} else {
			delete(pending, path)
		}
	}
	if failure != nil && !w.failed {
		d.log.Warn("Failed to write documents to the journal; will retry", zap.Error(failure))
	}
	w.failed = failure != nil
	d.giveBack(pending)
}

// take removes the pending documents.
func (d *journalDocuments) take() (cluster string, pending map[string]journal.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pending, d.pending = d.pending, map[string]journal.Document{}
	return d.cluster, pending
}

// giveBack makes documents pending again, unless there are newer ones.
func (d *journalDocuments) giveBack(pending map[string]journal.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, document := range pending {
		if _, newer := d.pending[path]; !newer {
			d.pending[path] = document
		}
	}
}

// receive records a response of the upstream.
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
	d.pending[document.Path] = document
}

// documentWriter writes the documents of one cluster to one journal. Used by one goroutine.
type documentWriter struct {
	*journal.Documents
	to      *journal.Journal
	cluster string
	failed  bool // whether the last write failed
}

// use selects the journal and the cluster.
func (w *documentWriter) use(to *journal.Journal, cluster string) {
	if w.Documents != nil && w.to == to && w.cluster == cluster {
		return
	}
	w.close()
	w.Documents, w.to, w.cluster = to.Documents(cluster), to, cluster
}

func (w *documentWriter) close() {
	if w.Documents != nil {
		_ = w.Close() // a segment without an end is valid
	}
}
