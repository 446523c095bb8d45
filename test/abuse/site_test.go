package abuse

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// site is a facade that authenticates its callers, and a namespace whose config maps its readers may read.
type site struct {
	*suite.Fixture
	cluster *testkit.Cluster
	facade  *suite.Facade
	admin   *visitor
}

var (
	roles    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	bindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
)

func newSite(t *testing.T, settings ...func(*facade.Config)) *site {
	t.Helper()
	s := &site{cluster: suite.Cluster(t)}
	s.Fixture = suite.NewFixture(t, s.cluster)
	s.Create(t, roles, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "reader"},
		"rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get", "list", "watch"}}},
	})
	s.Create(t, bindings, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "reader"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": s.Namespace}},
	})
	s.facade = suite.StartFacade(t, s.cluster, append([]func(*facade.Config){tellsApart}, settings...)...)
	admin, err := s.cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	s.admin = s.visitor(t, admin)
	s.admin.becomes(t, "/metrics", http.StatusOK)
	return s
}

func tellsApart(c *facade.Config) { c.Authentication.AnonymousActsAsKubeconfig = false }

// reader returns a client with the certificate of a user who may read the namespace's config maps. It waits until
// kube-apiserver applies that right.
func (s *site) reader(t *testing.T, name string) *visitor {
	t.Helper()
	v := s.visitor(t, s.cluster.ConfigOf(t, name, s.Namespace))
	v.becomes(t, s.configMaps(), http.StatusOK)
	return v
}

// configMaps returns the path of the namespace's config maps.
func (s *site) configMaps() string { return suite.Collection(suite.ConfigMaps, s.Namespace) }

// visitor is a client of the facade with one user's credentials.
type visitor struct {
	config *rest.Config
	client *http.Client
}

func (s *site) visitor(t *testing.T, who *rest.Config) *visitor {
	t.Helper()
	v := &visitor{config: s.facade.ConfigOf(who)}
	v.config.QPS = -1
	v.client = v.newClient(t, nil)
	return v
}

// newClient returns a client with new connections, from the source address if one is given.
func (v *visitor) newClient(t *testing.T, from net.IP) *http.Client {
	t.Helper()
	config := rest.CopyConfig(v.config)
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	dialer := &net.Dialer{}
	if from != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: from}
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	wrapped, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: wrapped}
}

// dial opens a connection with one protocol and a small receive buffer.
func (v *visitor) dial(t *testing.T, protocol string) *tls.Conn {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(v.config)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig = tlsConfig.Clone()
	tlsConfig.NextProtos, tlsConfig.ServerName = []string{protocol}, "127.0.0.1"
	raw := dialTCP(t, v.config.Host)
	conn := tls.Client(raw, tlsConfig)
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().NegotiatedProtocol; got != protocol {
		t.Fatalf("got protocol %q", got)
	}
	return conn
}

// dialTCP opens a connection that ends with the test.
func dialTCP(t *testing.T, host string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	return conn
}

// reply is an answer whose body was read.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

func (v *visitor) get(t *testing.T, path string) reply {
	t.Helper()
	return read(t, v.open(t, v.client, path))
}

func (v *visitor) open(t *testing.T, client *http.Client, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return nil
	}
	return response
}

// read reads an answer, if there is one.
func read(t *testing.T, response *http.Response) reply {
	t.Helper()
	if response == nil {
		return reply{}
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		t.Errorf("%s: %v", response.Request.URL, err)
	}
	return reply{code: response.StatusCode, header: response.Header, body: body.Bytes()}
}

// becomes waits until a request for the path receives the code.
func (v *visitor) becomes(t *testing.T, path string, code int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprint(path, " is ", code), func() error {
		if got := v.get(t, path); got.code != code {
			return fmt.Errorf("%d: %s", got.code, got.body)
		}
		return nil
	})
}

// served fails the test unless a request for the path receives 200.
func (v *visitor) served(t *testing.T, path string) {
	t.Helper()
	if got := v.get(t, path); got.code != http.StatusOK {
		t.Errorf("%s: got %d, want 200: %s", path, got.code, got.body)
	}
}

// refused fails the test unless an answer is a 429 with Retry-After.
func refused(t *testing.T, got reply) {
	t.Helper()
	after, err := strconv.Atoi(got.header.Get("Retry-After"))
	if got.code != http.StatusTooManyRequests || err != nil || after < 1 {
		t.Errorf("%d, Retry-After %q: %s", got.code, got.header.Get("Retry-After"), got.body)
	}
}

// sum returns the sum of the facade's metrics with that name and these labels.
func (s *site) sum(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	lines := bufio.NewScanner(bytes.NewReader(s.admin.get(t, "/metrics").body))
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if series, rest, _ := strings.Cut(series, "{"); series != name || !hasAll(rest, labels) {
			continue
		}
		one, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += one
	}
	return sum
}

func hasAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

// reviews returns the number of reviews of a kind that were sent to the upstream: token, request or watch.
func (s *site) reviews(t *testing.T, kind string) float64 {
	t.Helper()
	return s.sum(t, "listfacade_review_duration_seconds_count", `review="`+kind+`"`)
}

// answering returns the number of goroutines of this process that are in a package of the facade.
func answering(name string) int {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	within := 0
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if bytes.Contains(stack, []byte(name)) {
			within++
		}
	}
	return within
}

// calm waits until no more requests and connections are open than before.
func calm(t *testing.T, handlers, connections int) {
	t.Helper()
	testkit.Eventually(t, "what was held is free again", func() error {
		if h, c := requests(), served(); h > handlers || c > connections {
			return fmt.Errorf("%d requests and %d connections are held, there were %d and %d", h, c, handlers, connections)
		}
		return nil
	})
}

// requests returns the number of requests in flight.
func requests() int { return answering("listfacade/handlers.(*Server).process(") }

// served returns the number of the facade's open connections.
func served() int { return answering("net/http.(*conn).serve(") }
