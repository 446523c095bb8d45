package suite

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Tally is a way to kube-apiserver that counts what is asked on it.
type Tally struct {
	Kubeconfig string // of whoever takes it, with the rights of a facade

	mu   sync.Mutex // guards what follows
	all  map[Asked]int
	open map[Asked]int
	most map[Asked]int            // that were open at a time
	held map[string]chan struct{} // by resource: closed when its objects may be sent
}

// Asked is what was asked for, as far as it is counted.
type Asked struct {
	Way      Way
	Resource string // with its group, as in deployments.apps
	Protobuf bool
}

func (a Asked) String() string {
	encoding := "JSON"
	if a.Protobuf {
		encoding = "protobuf"
	}
	return fmt.Sprintf("%s of %s in %s", a.Way, a.Resource, encoding)
}

// Way is a way to ask for a collection.
type Way string

// The ways. What is asked to prove that a lane is fresh is none of them: lists of one name, lists of metadata, watches
// of three seconds.
const (
	List  Way = "list"
	Watch Way = "watch" // streaming lists, too
	Other Way = "other"
)

// NewTally stands in front of a cluster until the test ends.
func NewTally(t testing.TB, upstream *testkit.Cluster) *Tally {
	t.Helper()
	y := &Tally{all: map[Asked]int{}, open: map[Asked]int{}, most: map[Asked]int{}, held: map[string]chan struct{}{}}
	y.Kubeconfig = Serve(t, y.count(Forward(t, FacadeConfig(t, upstream))))
	return y
}

// quiet drops what proxies say about connections that end with the test.
var quiet = log.New(io.Discard, "", 0)

// Forward answers as the server of a configuration answers its user.
func Forward(t testing.TB, config *rest.Config) http.Handler {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.DisableCompression = true // the transport would ask for it in the facade's name, and leave its Vary
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: transport, FlushInterval: -1, ErrorLog: quiet,
	}
}

// Serve serves a handler until the test ends, and returns the file of a client configuration for it.
func Serve(t testing.TB, handler http.Handler) (kubeconfig string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return testkit.WriteInsecureKubeconfig(t, s.URL)
}

var tallied = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// what tells what is asked.
func what(r *http.Request) Asked {
	info, err := tallied.NewRequestInfo(r)
	query, accept := r.URL.Query(), r.Header.Get("Accept")
	if err != nil || !info.IsResourceRequest || info.Subresource != "" {
		return Asked{Way: Other}
	}
	a := Asked{Way: Other, Resource: strings.TrimSuffix(info.Resource+"."+info.APIGroup, "."), Protobuf: strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf")}
	named := info.Name != "" || strings.HasPrefix(query.Get("fieldSelector"), "metadata.name=")
	switch {
	case info.Verb == "list" && !named && !strings.Contains(accept, "as=PartialObjectMetadataList"):
		a.Way = List
	case info.Verb == "watch" && query.Get("timeoutSeconds") != "3":
		a.Way = Watch
	}
	return a
}

// count counts what passes, and holds what is held.
func (y *Tally) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := what(r)
		held := y.begin(asked)
		defer y.end(asked)
		if held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (y *Tally) begin(asked Asked) (held <-chan struct{}) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.all[asked]++
	y.open[asked]++
	y.most[asked] = max(y.most[asked], y.open[asked])
	if asked.Way == Other {
		return nil
	}
	return y.held[asked.Resource]
}

func (y *Tally) end(asked Asked) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.open[asked]--
}

// Hold keeps lists and watches of a resource waiting until release is called.
func (y *Tally) Hold(resource string) (release func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	until := make(chan struct{})
	y.held[resource] = until
	return func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		close(until)
		delete(y.held, resource)
	}
}

// Asked is how often something was asked.
func (y *Tally) Asked(asked Asked) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.all[asked]
}

// MostOpen is how many of each were answered at a time, at the most.
func (y *Tally) MostOpen() map[Asked]int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return maps.Clone(y.most)
}

// String lists what was asked for.
func (y *Tally) String() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var lines []string
	for asked, n := range y.all {
		if asked.Way != Other {
			lines = append(lines, fmt.Sprintf("%s: %d, at most %d at a time", asked, n, y.most[asked]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
