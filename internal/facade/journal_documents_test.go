package facade

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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

// documentsOf sends requests, writes what was recorded, and returns the bodies by path.
func documentsOf(t *testing.T, server recordedUpstream, requests ...func(*http.Request)) map[string]string {
	t.Helper()
	dir := t.TempDir()
	open, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var now *journal.Journal
	d := newJournalDocuments(func() *journal.Journal { return now }, func(context.Context) error { return nil }, zap.NewNop())
	config := d.observed(&rest.Config{Host: "http://server/prefix", Transport: server})
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range requests {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/prefix", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", upstream.UserAgent)
		r.Header.Set("Accept", upstream.MediaJSON)
		change(r)
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	w := &documentWriter{}
	d.write(t.Context(), w) // another process writes the journal
	now = open
	d.write(t.Context(), w)
	w.close()
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := journal.DocumentsAt(t.Context(), dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, one := range found {
		all[one.Path] = string(one.Body)
	}
	return all
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
