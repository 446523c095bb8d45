package facade

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/discovery"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/upstream"
)

// recordedUpstream answers each path with a body.
type recordedUpstream map[string]string

func (u recordedUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	body, found := u[r.URL.Path]
	if strings.Contains(r.Header.Get("Accept"), aggregatedKind) && r.Header.Get("Accept") != discovery.Accept {
		body = "another form"
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {upstream.MediaJSON}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	if !found {
		response.StatusCode = http.StatusNotFound
	}
	if strings.Contains(r.Header.Get("Accept"), aggregatedKind) {
		response.Header.Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	}
	if r.Header.Get("Accept-Encoding") != "" {
		response.Header.Set("Content-Encoding", "gzip")
	}
	return response, nil
}

// documentsRig records what a server answers.
type documentsRig struct {
	*journalDocuments
	transport  http.RoundTripper
	dir        string
	open, free *journal.Journal // open is nil while another process writes the journal, and later equal to free
}

func newDocumentsRig(t *testing.T, server recordedUpstream) *documentsRig {
	t.Helper()
	r := &documentsRig{dir: t.TempDir()}
	var err error
	if r.free, err = journal.Open(r.dir); err != nil {
		t.Fatal(err)
	}
	r.journalDocuments = newJournalDocuments(func() *journal.Journal { return r.open }, zap.NewNop())
	r.read = func(_ context.Context, path string) error { r.send(t, asked(path, acceptOf(path))); return nil }
	if r.transport, err = rest.TransportFor(r.observed(&rest.Config{Host: "http://server/prefix", Transport: server})); err != nil {
		t.Fatal(err)
	}
	return r
}

// send sends requests.
func (r *documentsRig) send(t *testing.T, requests ...func(*http.Request)) {
	t.Helper()
	for _, change := range requests {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/prefix", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", upstream.UserAgent)
		request.Header.Set("Accept", upstream.MediaJSON)
		change(request)
		response, err := r.transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
}

// held returns the number of bytes of the documents that wait to be written.
func (r *documentsRig) held() (bytes int) {
	for _, document := range r.pending {
		bytes += cap(document.Body)
	}
	return bytes
}

// recorded writes until nothing waits, and returns the bodies by path.
func (r *documentsRig) recorded(t *testing.T) map[string]string {
	t.Helper()
	w := &documentWriter{}
	for range 9 {
		r.readMissed(t.Context())
		r.write(t.Context(), w)
	}
	w.close()
	if err := r.free.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := journal.DocumentsAt(t.Context(), r.dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, one := range found {
		all[one.Path] = string(one.Body)
	}
	return all
}

// documentsOf sends requests, and returns what was recorded: with a journal, and before there is one. It is the same,
// and before there is a journal, no body is in memory.
func documentsOf(t *testing.T, server recordedUpstream, requests ...func(*http.Request)) map[string]string {
	t.Helper()
	early := newDocumentsRig(t, server)
	early.send(t, requests...)
	early.write(t.Context(), &documentWriter{})
	if n := early.held(); n > 0 {
		t.Errorf("got %d bytes in memory without a journal, want none", n)
	}
	r := newDocumentsRig(t, server)
	early.open, r.open = early.free, r.free
	r.send(t, requests...)
	all := r.recorded(t)
	if diff := cmp.Diff(all, early.recorded(t)); diff != "" {
		t.Errorf("documents with (-) and before (+) a journal:\n%s", diff)
	}
	return all
}

// TestWaitingDocumentsAreBounded: while documents cannot be written, they take a limited amount of memory. Afterwards,
// all are written.
func TestWaitingDocumentsAreBounded(t *testing.T) {
	server, large := recordedUpstream{"/prefix" + clusterPath: `{"metadata":{"uid":"cluster"}}`}, strings.Repeat("x", largestDocument/2)
	r := newDocumentsRig(t, server)
	r.open = r.free
	for i := range 6 {
		path := definitionsPath + string(rune('a'+i))
		server["/prefix"+path] = large
		r.send(t, asked(path, upstream.MediaJSON))
	}
	if n := r.held(); n > mostPending || n < len(large) {
		t.Errorf("got %d bytes in memory, want at most %d", n, mostPending)
	}
	r.send(t, asked(clusterPath, upstream.MediaJSON))
	if all := r.recorded(t); len(all) != 6 {
		t.Errorf("got %d documents, want 6", len(all))
	}
}

func asked(path, accept string) func(*http.Request) {
	return func(r *http.Request) {
		r.URL.Path += path
		r.Header.Set("Accept", accept)
	}
}

// The journal has what the facade reads about its upstream, without objects and clients' documents.
func TestJournalHasDocuments(t *testing.T) {
	server := recordedUpstream{}
	for _, path := range []string{"/version", "/api", "/apis", "/apis/apps/v1", "/openapi/v2", definitionsPath + "widgets.ex.io", definitionsPath + "gadgets.ex.io", "/api/v1/pods"} {
		server["/prefix"+path] = path
	}
	server["/prefix"+clusterPath] = `{"metadata":{"uid":"cluster"}}`
	got := documentsOf(t, server,
		asked("/version", upstream.MediaJSON), asked("/api", discovery.Accept), asked("/apis", discovery.Accept), asked("/apis/apps/v1", upstream.MediaJSON),
		asked("/api", upstream.MediaJSON), asked("/api", strings.ReplaceAll(discovery.Accept, "/json", "/vnd.kubernetes.protobuf")),
		asked("/apis", strings.ReplaceAll(discovery.Accept, aggregatedKind, aggregatedKind+";profile=nopeer")), asked("/openapi/v2", upstream.MediaJSON), asked("/api/v1/pods", upstream.MediaJSON),
		asked(definitionsPath+"widgets.ex.io", upstream.MediaJSON), asked(clusterPath, upstream.MediaJSON), asked(definitionsPath+"missing.ex.io", upstream.MediaJSON),
		func(r *http.Request) {
			r.URL.Path += definitionsPath + "gadgets.ex.io"
			r.Header.Set("User-Agent", "kubectl")
		},
		func(r *http.Request) {
			r.URL.Path += definitionsPath + "gadgets.ex.io"
			r.Header.Set("Accept-Encoding", "gzip")
		})
	want := []string{"/version", "/api", "/apis", definitionsPath + "widgets.ex.io"}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, path := range want {
		if got[path] != path {
			t.Errorf("%s: got %q, want %q", path, got[path], path)
		}
	}
}

// Without one document for all groups, the journal has the documents of all versions.
func TestJournalHasDocumentsOfAnOldUpstream(t *testing.T) {
	server := recordedUpstream{"/prefix/apis/apps/v1": "apps", "/prefix/api/v1": "core", "/prefix" + clusterPath: `{"metadata":{"uid":"cluster"}}`}
	got := documentsOf(t, server, asked("/apis/apps/v1", upstream.MediaJSON), asked("/api/v1", upstream.MediaJSON), asked(clusterPath, upstream.MediaJSON))
	if len(got) != 2 || got["/apis/apps/v1"] != "apps" || got["/api/v1"] != "core" {
		t.Errorf("got %v, want apps and core", got)
	}
}

// Nothing is written before the cluster is known.
func TestJournalHasNoDocumentsOfAnUnknownCluster(t *testing.T) {
	if got := documentsOf(t, recordedUpstream{"/prefix/version": "v"}, asked("/version", upstream.MediaJSON)); len(got) > 0 {
		t.Errorf("got %v, want none", got)
	}
}
