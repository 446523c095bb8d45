package questions

import (
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// crookedBases are paths of every kind, into which the test inserts parts that cleaning would remove.
var crookedBases = []string{
	"/api/v1/namespaces/oracle/configmaps/alpha", "/api/v1/configmaps", "/api/v1/nodes/node-0", "/api/v1/namespaces/oracle/secrets/alpha",
	"/apis/apps/v1/namespaces/oracle/deployments/alpha", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha", "/apis/ex.io/v1/widgets",
	"/apis/ex.io/v1/gadgets/oracle-1", "/api/v1/namespaces/oracle", "/api/v1/namespaces/oracle/pods/alpha/status",
	"/apis/ex.io/v1/namespaces/oracle/widgets/alpha/status", "/apis/metrics.k8s.io/v1beta1/nodes", "/openapi/v3/api/v1", "/openapi/v2",
	"/version", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/ex.io", "/apis/ex.io/v1", "/foo/bar", "/logs",
	"/.well-known/openid-configuration", "/openid/v1/jwks", "/apis/authorization.k8s.io/v1",
}

// kube-apiserver neither cleans nor redirects paths (semantics 8.6).
func TestUnusualPaths(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for i, base := range crookedBases {
		segments := strings.Split(base, "/")[1:]
		for at := range len(segments) + 1 {
			for _, between := range everyNth(2, i+at, []string{"", ".", "..", "%2e%2E", "x/..", "%2f"}) {
				parts := append(append(append([]string{}, segments[:at]...), between), segments[at:]...)
				o.Compare(t, testkit.Question{Path: "/" + strings.Join(parts, "/") + "?resourceVersion=0"})
			}
		}
		for _, behind := range []string{"//", "///", "/%2f", "/a//b", "//a", "/.//", "%2F%2e%2e%2fx"} {
			o.Compare(t, testkit.Question{Path: base + behind + "?resourceVersion=0"})
		}
	}
}

// TestImpossibleNames requests objects and namespaces with names that no object can have.
func TestImpossibleNames(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for i, path := range []string{
		"/api/v1/namespaces/-/configmaps", "/api/v1/namespaces/-/configmaps/alpha", "/api/v1/namespaces/oracle/configmaps/-",
		"/api/v1/namespaces/-/configmaps/-", "/api/v1/nodes/-", "/api/v1/namespaces/-", "/api/v1/namespaces/-/status", "/api/v1/nodes/-/status",
		"/api/v1/namespaces/oracle/pods/-/status", "/api/v1/namespaces/oracle/pods/-/log", "/api/v1/watch/namespaces/-/configmaps",
		"/api/v1/watch/namespaces/oracle/configmaps/-", "/api/v1/watch/nodes/-", "/api/v1/watch/namespaces/-",
		"/api/v1/watch/namespaces/-/configmaps/alpha", "/apis/ex.io/v1/namespaces/-/widgets", "/apis/ex.io/v1/namespaces/-/widgets/alpha",
		"/apis/ex.io/v1/namespaces/oracle/widgets/-", "/apis/ex.io/v1/gadgets/-", "/apis/ex.io/v1/namespaces/oracle/widgets/-/status",
		"/apis/ex.io/v1/watch/namespaces/-/widgets", "/apis/ex.io/v1/watch/gadgets/-", "/apis/ex.io/v1/gadgets/-/status",
		"/apis/apps/v1/namespaces/-/deployments/-/scale", "/apis/apps/v1/namespaces/-/deployments/alpha/status", "/api/v1/namespaces/-/events",
		"/api/v1/namespaces/oracle/events/-", "/api/v1/namespaces/-/secrets", "/api/v1/namespaces/-/services", "/api/v1/namespaces/-/replicationcontrollers",
		"/apis/networking.k8s.io/v1/namespaces/-/ingresses", "/api/-/pods", "/apis/-/v1/pods",
		"/apis/apps/-/deployments", "/openapi/v3/apis/-/v1",
	} {
		for j, name := range []string{".", "..", "", "%2e%2e"} {
			for _, query := range everyNth(3, i+j, []string{"resourceVersion=0", "resourceVersion=x", "limit=x&labelSelector=a%20b"}) {
				q := testkit.Question{Path: strings.ReplaceAll(path, "/-", "/"+name) + "?" + query}
				if strings.Contains(path, "/watch/") {
					q.Path += "&timeoutSeconds=1"
				}
				if strings.HasSuffix(path, "/-/configmaps/-") && name == "" { // a list, and the trailing slash is none
					continue
				}
				o.Compare(t, q)
			}
		}
	}
}

// A path without a route is refused in the requested representation.
func TestUnroutedPathsInEveryRepresentation(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for _, path := range []string{"/api/v1/namespaces/oracle/configmaps/alpha//beta", "/apis/nope.io/v1//x", "/apis/ex.io/v1/gadgets//x"} {
		for _, header := range []http.Header{
			{"Accept": {"application/yaml"}}, {"Accept": {"text/html"}}, {"Accept": {protobuf}}, {"Accept": {tableV1}}, {"User-Agent": {"curl/8"}},
			{"Accept": {"application/json;pretty=1"}},
		} {
			o.Compare(t, testkit.Question{Path: path, Header: header})
		}
	}
}
