package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

func TestMain(m *testing.M) { testkit.VerifyTestMain(m) }

// start is the time of resourceVersion 100 in the journals of tests. Each version takes a second.
var start = time.Date(2026, 1, 31, 3, 47, 0, 0, time.UTC)

func at(rv uint64) time.Time { return start.Add(time.Duration(int64(rv)-100) * time.Second) }

// kind is a kind of which a test writes a journal.
type kind struct {
	upstream.Resource
	accept, columns string
}

func kindOf(group, version, resource, name string) kind {
	gv := schema.GroupVersion{Group: group, Version: version}
	return kind{Resource: upstream.Resource{GVR: gv.WithResource(resource), GVK: gv.WithKind(name), Namespaced: true},
		accept: upstream.MediaJSON}
}

var configMaps = kindOf("", "v1", "configmaps", "ConfigMap")

// writer writes a journal.
type writer struct {
	t   *testing.T
	dir string
	*journal.Journal
	lanes     map[string]*journal.Writer
	documents *journal.Documents
}

func newWriter(t *testing.T) *writer {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, dir: dir, Journal: j, lanes: map[string]*journal.Writer{}, documents: j.Documents(cluster)}
	w.put("/version", "application/json", `{"major":"1","minor":"34","gitVersion":"v1.34.0"}`)
	w.put("/api", aggregatedMedia, discoveryOf("", "configmaps:ConfigMap:cm", "pods:Pod:po", "secrets:Secret:"))
	w.put("/apis", aggregatedMedia, discoveryOf("ex.io", "widgets:Widget:wd"))
	t.Cleanup(w.close)
	return w
}

// close closes all files, so that readers see the complete journal.
func (w *writer) close() {
	for _, lane := range w.lanes {
		_ = lane.Close()
	}
	_, _ = w.documents.Close(), w.Close()
	clear(w.lanes)
}

const (
	cluster         = "cluster-uid"
	aggregatedMedia = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// discoveryOf returns an aggregated discovery document with one group of version v1.
func discoveryOf(group string, resources ...string) string {
	var items []string
	for _, r := range resources {
		part := strings.Split(r, ":")
		items = append(items, fmt.Sprintf(`{"resource":%q,"responseKind":{"group":%q,"version":"v1","kind":%q},"scope":"Namespaced",`+
			`"singularResource":%q,"verbs":["get","list","watch"],"shortNames":[%q],"subresources":[{"subresource":"status","responseKind":{"group":%q,"version":"v1","kind":%q},"verbs":["get"]}]}`,
			part[0], group, part[1], strings.ToLower(part[1]), part[2], group, part[1]))
	}
	name := ""
	if group != "" {
		name = fmt.Sprintf(`"name":%q`, group)
	}
	return fmt.Sprintf(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{%s},"versions":[{"version":"v1","freshness":"Current","resources":[%s]}]}]}`,
		name, strings.Join(items, ","))
}

func (w *writer) put(path, media, body string) {
	w.t.Helper()
	w.putAt(at(50), path, media, body)
}

func (w *writer) putAt(when time.Time, path, media, body string) {
	w.t.Helper()
	d := journal.Document{Path: path, Accept: media, MediaType: media, Body: []byte(body), Time: when}
	if err := w.documents.Put(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) lane(k kind) (string, *journal.Writer) {
	name := strings.Join([]string{k.GVR.Resource, k.GVR.Group, k.GVR.Version, jsonName}, ".")
	if w.lanes[name] == nil {
		w.lanes[name] = w.Lane(name)
	}
	return name, w.lanes[name]
}

// begin begins a segment at a version. The segment continues the previous segment if after is the position of that
// segment.
func (w *writer) begin(k kind, rv uint64, after journal.Position, objects ...journal.Record) {
	w.t.Helper()
	w.beginAt(at(rv), k, rv, after, objects...)
}

// beginAt is begin with another time than the time of the version.
func (w *writer) beginAt(when time.Time, k kind, rv uint64, after journal.Position, objects ...journal.Record) {
	w.t.Helper()
	_, lane := w.lane(k)
	id := journal.Identity{Cluster: cluster, Resource: k.GVR.String(), Encoding: jsonName, Accept: k.accept, Columns: []byte(k.columns)}
	if k.Custom {
		id.Definition = "definition-uid"
	}
	s := journal.Start{Identity: id, RV: rv, Time: when, After: after}
	if err := lane.Begin(w.t.Context(), s, slices.Values(objects)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) add(k kind, records ...journal.Record) {
	w.t.Helper()
	_, lane := w.lane(k)
	if err := lane.Append(w.t.Context(), slices.Values(records)); err != nil {
		w.t.Fatal(err)
	}
}

// record returns a record of an object whose data is its version.
func (k kind) record(t *testing.T, as journal.Kind, name string, rv uint64) journal.Record {
	t.Helper()
	about, err := reflector.Describe(k.Resource, nil)
	if err != nil {
		t.Fatal(err)
	}
	object := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"namespace":"shop","uid":"uid-%s","resourceVersion":"%d","creationTimestamp":"2026-01-31T03:46:00Z","labels":{"app":%q}},"data":{"v":"%d"}}`,
		k.GVK.Kind, k.GVK.GroupVersion(), name, name, rv, name, rv)
	line := fmt.Sprintf(`{"type":"ADDED","object":%s}`, object)
	if k.columns != "" {
		line = fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%d"},"columnDefinitions":null,"rows":[{"cells":[%q,"0s"],"object":%s}]}}`, rv, name, object)
	}
	frame, err := about.Reader(facade.Encodings()[0], k.accept).Frame([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	r := journal.Record{Kind: as, RV: rv, Key: "shop/" + name, Payload: wire.AppendStored(nil, &frame.Item, 0)}
	if as != journal.Object {
		r.Time = at(rv)
	}
	return r
}

func progress(rv uint64) journal.Record {
	return journal.Record{Kind: journal.Progress, RV: rv, Time: at(rv)}
}

// server is a running replay.
type server struct {
	*Replay
	client *http.Client
	cancel context.CancelFunc
}

// serve replays a journal until the test ends.
func serve(t *testing.T, dir, moment string, set ...func(*Options)) *server {
	t.Helper()
	o := Options{Dir: dir, At: moment, Speed: 1, Frozen: true}
	for _, change := range set {
		change(&o)
	}
	r, err := Open(t.Context(), o, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		r.Close()
	})
	return &server{Replay: r, client: testkit.ServeInMemory(t, r.Handler()), cancel: cancel}
}

// get sends a GET and returns the response with its body.
func (s *server) get(t *testing.T, target string, accept ...string) (*http.Response, string) {
	t.Helper()
	return s.do(t, http.MethodGet, target, "", accept...)
}

func (s *server) do(t *testing.T, method, target, body string, accept ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", upstream.MediaJSON)
	}
	for _, media := range accept {
		request.Header.Add("Accept", media)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// watch begins a watch, and returns a function that returns the types, names and versions of its next events.
func (s *server) watch(t *testing.T, target string, accept ...string) func(events int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, media := range accept {
		request.Header.Add("Accept", media)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	decoder := json.NewDecoder(response.Body)
	return func(events int) string {
		t.Helper()
		var all []string
		for range events {
			var event struct {
				Type   string
				Object metav1.PartialObjectMetadata
			}
			if err := decoder.Decode(&event); err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.Join([]string{event.Type, event.Object.Name, event.Object.ResourceVersion}, " "))
		}
		return strings.Join(all, ",")
	}
}
