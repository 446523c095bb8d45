package identities

import (
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Each fragment is in exactly one object of testdata/objects.yaml.
const (
	inFirst     = "canary-configmap-first"
	inSecond    = "canary-configmap-second"
	inNamed     = "canary-configmap-named"
	inMounted   = "canary-configmap-mounted"
	firstSecret = "canary-secret-first"
	otherSecret = "canary-secret-second"
	podOfNode0  = "canary-pod-of-node-0"
	podOfNode1  = "canary-pod-of-node-1"
	inWidget    = "canary-widget"
)

var canaries = []string{inFirst, inSecond, inNamed, inMounted, firstSecret, otherSecret, podOfNode0, podOfNode1, inWidget}

// identity is a caller.
type identity struct {
	name   string
	config *rest.Config // for the cluster
	// unproven is set if the credentials are not valid.
	unproven bool
	// nameless is set if the caller has no token. With --passthrough=token, its requests are not forwarded.
	nameless bool
	// sees are the canaries that kube-apiserver shows to this identity.
	sees []string
}

// world is the cluster with the objects of this package's tests, and their callers.
type world struct {
	*testkit.Cluster
	identities map[string]identity
}

var (
	once  sync.Once
	built *world
)

// newWorld creates the objects in the shared cluster, once.
func newWorld(t *testing.T) *world {
	t.Helper()
	once.Do(func() {
		w := &world{Cluster: suite.Furnished(t), identities: map[string]identity{}}
		config, err := w.Config("admin")
		if err != nil {
			t.Fatal(err)
		}
		if err := testkit.Furnish(t.Context(), config, os.DirFS("testdata")); err != nil {
			t.Fatal(err)
		}
		w.certified(t)
		w.authenticatedOtherwise(t)
		w.unproven(t)
		w.awaitRights(t)
		built = w
	})
	if built == nil {
		t.Fatal("an earlier test could not create the world")
	}
	return built
}

func (w *world) add(i identity) { w.identities[i.name] = i }

// certified adds the callers with a client certificate.
func (w *world) certified(t *testing.T) {
	t.Helper()
	const nodes = "system:nodes"
	w.add(identity{name: "admin", config: w.user(t, "admin", "system:masters"), nameless: true, sees: canaries})
	w.add(identity{
		name: "reader", config: w.user(t, "reader"), nameless: true,
		sees: []string{inFirst, inSecond, inNamed, inMounted, podOfNode0, podOfNode1, inWidget},
	})
	w.add(identity{name: "nadia", config: w.user(t, "nadia"), nameless: true, sees: []string{inFirst, inNamed, firstSecret}})
	w.add(identity{name: "nick", config: w.user(t, "nick"), nameless: true, sees: []string{inNamed}})
	w.add(identity{name: "node-0", config: w.user(t, "system:node:node-0", nodes), nameless: true, sees: []string{inMounted, podOfNode0}})
	w.add(identity{name: "node-1", config: w.user(t, "system:node:node-1", nodes), nameless: true, sees: []string{podOfNode1}})
	w.add(identity{name: "node without its group", config: w.user(t, "system:node:node-0"), nameless: true})
	w.add(identity{
		name: "of a group", config: w.user(t, "gina", "others", "first-readers"), nameless: true, sees: []string{inFirst, inNamed, firstSecret},
	})
	w.add(identity{name: "monitor", config: w.user(t, "monitor"), nameless: true})
	w.add(identity{name: "without rights", config: w.user(t, "olga"), nameless: true})
	both := w.user(t, "nick")
	both.BearerToken = w.token(t)
	w.add(identity{name: "certificate before token", config: both, nameless: true, sees: []string{inNamed}})
}

// authenticatedOtherwise adds the callers that authenticate in other ways.
func (w *world) authenticatedOtherwise(t *testing.T) {
	t.Helper()
	ofRobot := []string{inFirst, inNamed, firstSecret}
	w.add(identity{name: "robot", config: w.ConfigWithToken(w.token(t)), sees: ofRobot})
	foreign := w.ConfigWith(testkit.NewAuthority(t, "foreign").Certify(t, testkit.Certificate{User: "admin", Groups: []string{"system:masters"}}))
	foreign.BearerToken = w.token(t)
	w.add(identity{name: "token behind a foreign certificate", config: foreign, sees: ofRobot})
	proxied := w.ConfigWith(w.Authority(t, testkit.FrontProxyCA).Certify(t, testkit.Certificate{User: testkit.FrontProxyName}))
	w.add(identity{
		name: "through a front proxy", nameless: true, sees: ofRobot,
		config: with(proxied, http.Header{"X-Remote-User": {"paula"}, "X-Remote-Group": {"first-readers"}}),
	})
	pretender := with(w.user(t, "nick"), http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}})
	w.add(identity{name: "pretends to be a front proxy", config: pretender, nameless: true, sees: []string{inNamed}})
	w.add(identity{name: "anonymous", config: plain(w.ConfigWithToken(""))})
}

// unproven adds the callers with invalid credentials.
func (w *world) unproven(t *testing.T) {
	t.Helper()
	users := w.Authority(t, testkit.ClientCA)
	expired := users.Certify(t, testkit.Certificate{User: "admin", Groups: []string{"system:masters"}, Until: time.Now().Add(-time.Minute)})
	other := w.Authority(t, testkit.FrontProxyCA).Certify(t, testkit.Certificate{User: "another-proxy"})
	for name, config := range map[string]*rest.Config{
		"bad token":           w.ConfigWithToken("nonsense"),
		"expired certificate": w.ConfigWith(expired),
		"unknown front proxy": with(w.ConfigWith(other), http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}),
	} {
		w.add(identity{name: name, config: plain(config), unproven: true})
	}
}

func (w *world) user(t *testing.T, name string, groups ...string) *rest.Config {
	t.Helper()
	return w.ConfigOf(t, name, groups...)
}

func (w *world) token(t *testing.T) string {
	t.Helper()
	return w.Token(t, suite.FirstNamespace, "robot", testkit.TokenOptions{})
}

// plain selects HTTP/1.1. Both servers close an HTTP/2 connection after each request that is not authenticated.
func plain(config *rest.Config) *rest.Config {
	config.NextProtos = []string{"http/1.1"}
	return config
}

// with adds headers to every request.
func with(config *rest.Config, header http.Header) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &headed{next: next, header: header} })
	return config
}

type headed struct {
	next   http.RoundTripper
	header http.Header
}

// RoundTrip implements http.RoundTripper.
func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h.header {
		r.Header[name] = values
	}
	return h.next.RoundTrip(r)
}

// awaitRights waits until kube-apiserver applies the granted rights.
func (w *world) awaitRights(t *testing.T) {
	t.Helper()
	for name, path := range map[string]string{
		"nadia": "/api/v1/namespaces/oracle/configmaps", "nick": "/api/v1/namespaces/oracle/configmaps/named", "monitor": "/metrics",
		"of a group": "/apis/ex.io/v1/namespaces/oracle/widgets", "robot": "/api/v1/namespaces/oracle/pods",
		"node-0": "/api/v1/namespaces/oracle-b/configmaps/mounted", "node-1": "/api/v1/namespaces/oracle-b/pods/on-node-1",
	} {
		asker := w.upstream(t, name)
		testkit.Eventually(t, name+" has rights", func() error {
			return expect(asker.MustAsk(t, testkit.Question{Path: path}), http.StatusOK)
		})
	}
}

func (w *world) upstream(t *testing.T, name string) *testkit.Asker {
	t.Helper()
	asker, err := testkit.NewAsker(w.identities[name].config)
	if err != nil {
		t.Fatal(err)
	}
	return asker
}

// as returns an oracle that compares both servers' answers to one caller.
func (w *world) as(t *testing.T, f *suite.Facade, name string) *testkit.Oracle {
	t.Helper()
	who, ok := w.identities[name]
	if !ok {
		t.Fatalf("no identity is named %q", name)
	}
	o := f.As(t, who.config)
	o.Excused = func(q testkit.Question, want, got *testkit.Answer) bool {
		return testkit.AboutItself(q, want, got) || who.nameless && testkit.NotPassedOn(q, want, got)
	}
	return o
}
