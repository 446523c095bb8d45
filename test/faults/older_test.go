package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// mover is the address of clients whose server changes. When it does, all watches end cleanly, and requests wait.
type mover struct {
	config *rest.Config

	mu     sync.Mutex // guards what follows
	proxy  *httputil.ReverseProxy
	opened chan struct{}      // closed while requests pass
	life   context.Context    // of the open watches
	end    context.CancelFunc // ends life

	refused *watchErrors // errors of the servers, as responses and as events
}

func newMover(t *testing.T) *mover {
	t.Helper()
	m := &mover{opened: make(chan struct{}), refused: newWatchErrors()}
	m.life, m.end = context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(m)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { m.end(); server.CloseClientConnections(); server.Close() })
	insecure := &rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	m.config = &rest.Config{Host: server.URL, QPS: -1, Transport: suite.PatientTransport(t, insecure)}
	return m
}

// ServeHTTP implements http.Handler.
func (m *mover) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	opened := m.opened
	m.mu.Unlock()
	select {
	case <-opened:
	case <-r.Context().Done():
		return
	}
	m.mu.Lock()
	proxy := m.proxy
	m.mu.Unlock()
	proxy.ServeHTTP(w, r)
}

// leave ends the watches, and lets requests wait.
func (m *mover) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end()
	m.opened = make(chan struct{})
}

// move sends all requests to another server.
func (m *mover) move(t *testing.T, to *rest.Config) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proxy = suite.Forward(t, to).(*httputil.ReverseProxy)
	life, end := context.WithCancel(context.Background())
	m.life, m.end = life, end
	m.proxy.ModifyResponse = func(r *http.Response) error {
		if isWatch(r.Request) {
			if r.StatusCode != http.StatusOK {
				m.refused.count(r.Status)
			}
			body := r.Body
			stop := context.AfterFunc(life, func() { _ = body.Close() })
			r.Body = &endingBody{ReadCloser: body, life: life, stop: stop, refused: m.refused}
		}
		return nil
	}
	close(m.opened)
}

// endingBody is a body that ends cleanly with a context.
type endingBody struct {
	io.ReadCloser
	life    context.Context
	stop    func() bool
	refused *watchErrors
}

// statusFailure is in the Status of an error event, in JSON and in protobuf.
var statusFailure = []byte("Failure")

// Read implements io.Reader.
func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if at := bytes.Index(p[:n], statusFailure); at >= 0 {
		b.refused.count(fmt.Sprintf("%q", p[at:min(n, at+200)]))
	}
	if err != nil && b.life.Err() != nil {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (b *endingBody) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}

// olderInformer is an informer with what it selects.
type olderInformer struct {
	toolscache.SharedIndexInformer
	gvr      schema.GroupVersionResource
	selected metav1.ListOptions
}

// olderInformers returns informers with many selections and in all encodings. Most select few of the changes, so their
// versions differ.
func olderInformers(t *testing.T, s *suite.Fixture, config *rest.Config, amount int) []olderInformer {
	t.Helper()
	clients := suite.NewClients(t, config)
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	protobuf := suite.NewClients(t, config)
	all := make([]olderInformer, amount)
	for i := range all {
		selected := []metav1.ListOptions{
			{}, {LabelSelector: fmt.Sprintf("number!=%d", i)}, {FieldSelector: fmt.Sprintf("metadata.name=o%d", i%olderObjects)}, {LabelSelector: "t=a"},
		}[i%4]
		tweak := func(o *metav1.ListOptions) {
			o.LabelSelector, o.FieldSelector = selected.LabelSelector, selected.FieldSelector
		}
		unstructured := dynamicinformer.NewFilteredDynamicSharedInformerFactory(clients.Dynamic, 0, s.Namespace, tweak)
		all[i] = olderInformer{gvr: suite.ConfigMaps, selected: selected}
		switch i / 4 % 4 {
		case 0:
			all[i].SharedIndexInformer = unstructured.ForResource(suite.ConfigMaps).Informer()
		case 1:
			all[i].SharedIndexInformer = metadatainformer.NewFilteredSharedInformerFactory(clients.Metadata, 0, s.Namespace, tweak).
				ForResource(suite.ConfigMaps).Informer()
		case 2:
			all[i].SharedIndexInformer = informers.NewSharedInformerFactoryWithOptions(protobuf.Typed, 0, informers.WithNamespace(s.Namespace),
				informers.WithTweakListOptions(tweak)).Core().V1().ConfigMaps().Informer()
		default:
			all[i].SharedIndexInformer, all[i].gvr = unstructured.ForResource(suite.Gadgets).Informer(), suite.Gadgets
		}
	}
	return all
}

const olderObjects = 5

// watchErrors counts the errors after which informers list again.
type watchErrors struct {
	mu      sync.Mutex
	byCause map[string]int
}

func newWatchErrors() *watchErrors { return &watchErrors{byCause: map[string]int{}} }

// note implements toolscache.WatchErrorHandler.
func (w *watchErrors) note(_ *toolscache.Reflector, err error) {
	w.count(regexp.MustCompile(`"https?:[^"]*"`).ReplaceAllString(err.Error(), "URL"))
}

func (w *watchErrors) count(cause string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byCause[cause]++
}

// take returns the errors since the last call.
func (w *watchErrors) take() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.byCause
	w.byCause = map[string]int{}
	return taken
}

// TestInformersMoveWithoutLists moves informers of many versions and selections from kube-apiserver to a facade, and
// from there to others that start later: after a kill, after a shutdown, and between replicas. Objects change while no
// watch is open. No informer lists again, and all have the upstream's objects.
func TestInformersMoveWithoutLists(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	change := func(round int) {
		for i := range olderObjects {
			for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
				name := fmt.Sprintf("o%d", i)
				s.Put(t, gvr, name, []string{"t=a", "t=b"}[(i+round)%2], fmt.Sprint(round))
				if (i+round)%3 == 0 {
					s.Remove(t, gvr, name)
				}
			}
		}
	}
	change(0)
	m, counted := newMover(t), new(lists)
	m.move(t, suite.FacadeConfig(t, suite.Cluster(t)))
	m.config.Wrap(counted.around)
	informers := olderInformers(t, s, m.config, settings.Amount(32, 1000))
	failed := newWatchErrors()
	for _, informer := range informers {
		if err := informer.SetWatchErrorHandler(failed.note); err != nil {
			t.Fatal(err)
		}
		suite.RunInformer(t, informer)
	}
	listed := 0
	arrive := func(what string) {
		t.Helper()
		for i, informer := range informers {
			testkit.Eventually(t, what, func() error {
				if diff := cmp.Diff(s.Present(t, informer.gvr, informer.selected), suite.Held(t, informer)); diff != "" {
					return fmt.Errorf("informer %d of %s (%+v): (-upstream +informer)\n%s", i, informer.gvr.Resource, informer.selected, diff)
				}
				return nil
			})
		}
		if n := counted.count(); listed > 0 && n > listed {
			t.Errorf("%s: %d informers sent %d lists, after the errors %v; the server sent %v", what, len(informers), n-listed,
				failed.take(), m.refused.take())
		}
		listed = counted.count()
	}
	arrive("the informers are synced")
	var run, other *suite.Facade
	for round, step := range []struct {
		what   string
		server func() *suite.Facade
	}{
		{"kube-apiserver is replaced by a facade", func() *suite.Facade { return suite.StartFacade(t, suite.Cluster(t)) }},
		{"the facade is killed", func() *suite.Facade {
			if err := run.Abort(); err != nil {
				t.Fatal(err)
			}
			return suite.StartFacade(t, suite.Cluster(t))
		}},
		{"the facade is terminated", func() *suite.Facade {
			run.Close(t)
			other = suite.StartFacade(t, suite.Cluster(t))
			return other
		}},
		{"a replica starts", func() *suite.Facade { return suite.StartFacade(t, suite.Cluster(t)) }},
		{"the first replica returns", func() *suite.Facade { return other }},
	} {
		<-time.After(settled) //pace: client-go lists again after a watch that ends within its first second
		m.leave()
		change(2*round + 1)
		run = step.server()
		m.move(t, run.Config)
		change(2*round + 2)
		arrive(step.what)
	}
}
