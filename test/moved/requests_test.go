package moved

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// servers are a kube-apiserver and a facade, with the requests that the programs of a test send to each.
type servers struct {
	cluster               *testkit.Cluster
	run                   *suite.Facade
	port                  int
	certs                 string
	kubeAPIServer, facade requests
	kubeconfig            string // of kube-apiserver, with a token of an administrator
}

// newServers starts a facade, and a proxy in front of kube-apiserver that only counts.
func newServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{cluster: suite.Cluster(t), port: suite.FreePort(t), certs: t.TempDir()}
	s.start(t)
	direct := suite.Forward(t, &rest.Config{Host: s.cluster.Server, TLSClientConfig: rest.TLSClientConfig{CAFile: s.cluster.CAFile}})
	config := s.cluster.ConfigWithToken(administrator(t, s.cluster))
	config.Host, config.CAFile = serve(t, s.kubeAPIServer.around(direct))
	s.kubeconfig = testkit.WriteKubeconfig(t, config)
	return s
}

// start starts the facade at its port.
func (s *servers) start(t *testing.T) {
	t.Helper()
	s.run = suite.NewFacade(t, suite.FacadeKubeconfig(t, s.cluster), func(c *facade.Config) {
		c.Port, c.CertDir, c.Authentication.AnonymousActsAsKubeconfig = s.port, s.certs, false
	})
	s.run.Wrap(s.facade.around)
	s.run.Listen(t)
	s.run.AwaitReady(t)
}

// requests are the requests that a server received.
type requests struct {
	mu   sync.Mutex
	seen []seen
}

// seen is a request as kube-apiserver authorizes it.
type seen struct{ verb, resource, agent, path string }

var paths = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// around returns a handler that notes the requests of another. Probes of the facade's readiness are not noted.
func (l *requests) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := paths.NewRequestInfo(r)
		if err != nil {
			info = &request.RequestInfo{Verb: "unreadable"}
		}
		resource := strings.TrimSuffix(info.Resource+"."+info.APIGroup, ".")
		if info.Subresource != "" {
			resource += "/" + info.Subresource
		}
		agent, _, _ := strings.Cut(r.UserAgent(), "/")
		if r.URL.Path != "/readyz" {
			l.mu.Lock()
			l.seen = append(l.seen, seen{info.Verb, resource, agent, r.URL.Path})
			l.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// all returns the requests up to now.
func (l *requests) all() []seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

// count returns the number of requests with a verb for a resource.
func (l *requests) count(verb, resource string) int {
	n := 0
	for _, one := range l.all() {
		if one.verb == verb && one.resource == resource {
			n++
		}
	}
	return n
}

// isRead reports whether a request changes nothing.
func (s seen) isRead() bool { return s.verb == "get" || s.verb == "list" || s.verb == "watch" }

// wellSplit checks that no write reached the facade, and no read that a facade can serve reached kube-apiserver.
func (s *servers) wellSplit(t *testing.T) {
	t.Helper()
	direct := []string{"secrets", "leases.coordination.k8s.io"}
	for _, one := range s.facade.all() {
		if !one.isRead() {
			t.Errorf("the facade got %+v", one)
		}
	}
	for _, one := range s.kubeAPIServer.all() {
		if one.isRead() && !slices.Contains(direct, one.resource) && !strings.Contains(one.resource, "/") {
			t.Errorf("kube-apiserver got %+v", one)
		}
	}
}
