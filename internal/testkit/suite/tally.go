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

// Tally is a proxy of kube-apiserver that counts requests.
type Tally struct {
	Kubeconfig string // for clients of the proxy, which forwards with the rights of a facade

	mu   sync.Mutex // guards the fields below
	all  map[Asked]int
	open map[Asked]int
	most map[Asked]int            // maximum of concurrent requests
	held map[string]chan struct{} // by resource; closed when its requests may continue
}

// Asked contains the properties of a request by which a Tally counts requests.
type Asked struct {
	Way      Way
	Resource string // with the group, as in deployments.apps
	Protobuf bool
}

func (a Asked) String() string {
	encoding := "JSON"
	if a.Protobuf {
		encoding = "protobuf"
	}
	return fmt.Sprintf("%s of %s in %s", a.Way, a.Resource, encoding)
}

// Way is a kind of request for a collection.
type Way string

// The kinds of requests. Freshness checks count as Other: lists of one name, lists of metadata, watches of three
// seconds.
const (
	List  Way = "list"
	Watch Way = "watch" // also streaming lists
	Other Way = "other"
)

// NewTally starts a tally in front of a cluster until the test ends.
func NewTally(t testing.TB, upstream *testkit.Cluster) *Tally {
	t.Helper()
	y := &Tally{all: map[Asked]int{}, open: map[Asked]int{}, most: map[Asked]int{}, held: map[string]chan struct{}{}}
	y.Kubeconfig = Serve(t, y.count(Forward(t, FacadeConfig(t, upstream))))
	return y
}

// quiet discards the log of proxies about connections that end with the test.
var quiet = log.New(io.Discard, "", 0)

// Forward returns a proxy to the server of a configuration, with its credentials.
func Forward(t testing.TB, config *rest.Config) http.Handler {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.DisableCompression = true // otherwise the transport requests compression, and changes Vary
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: PatientTransport(t, config),
		FlushInterval: -1, ErrorLog: quiet,
	}
}

// Serve serves a handler until the test ends, and returns a kubeconfig for it.
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

var tallied = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api")}

func what(r *http.Request) Asked {
	info, err := tallied.NewRequestInfo(r)
	query, accept := r.URL.Query(), r.Header.Get("Accept")
	if err != nil || !info.IsResourceRequest || info.Subresource != "" {
		return Asked{Way: Other}
	}
	a := Asked{Way: Other, Resource: strings.TrimSuffix(info.Resource+"."+info.APIGroup, "."),
		Protobuf: strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf")}
	named := info.Name != "" || strings.HasPrefix(query.Get("fieldSelector"), "metadata.name=")
	switch {
	case info.Verb == "list" && !named && !strings.Contains(accept, "as=PartialObjectMetadataList"):
		a.Way = List
	case info.Verb == "watch" && query.Get("timeoutSeconds") != "3":
		a.Way = Watch
	}
	return a
}

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

// Hold delays lists and watches of a resource until release is called.
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

// Asked returns the number of requests with the given properties.
func (y *Tally) Asked(asked Asked) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.all[asked]
}

// MostOpen returns the maximum number of concurrent requests by kind.
func (y *Tally) MostOpen() map[Asked]int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return maps.Clone(y.most)
}

// String lists the counted requests.
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
