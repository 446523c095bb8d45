package identities

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Both servers answer each unusual path alike. The facade's review names the resource that kube-apiserver's own parser
// finds in the path.
func TestAmbiguousPathsAreAuthorizedAsUpstreamParsesThem(t *testing.T) {
	w, way, f := newRoadFacade(t)
	paths := []string{
		"//api", "/api/v1//pods", "/api/v1/namespaces/../pods", "/api/v1/namespaces/%2e%2e/pods", "/api/v1/namespaces/oracle%2Fpods",
		"/api/v1/namespaces/oracle%2Fconfigmaps/named", "/api/v1/namespaces/oracle/configmaps%2Fnamed", "/api/v1/namespaces/oracle-b%2f..%2foracle/configmaps",
		"/api/v1/namespaces/oracle%00/configmaps", "/API/v1/namespaces/oracle/configmaps", "/api/V1/namespaces/oracle/configmaps",
		inFirstNamespace + "/", inFirstNamespace + "//", inFirstNamespace + "/named/", inFirstNamespace + "/named%20", inFirstNamespace + "/%ff",
		"/api/v1/namespaces/%ff/configmaps", "/api/v1/namespaces/oracle/./configmaps", "/api/v1/namespaces/oracle/configmaps/.",
		"/api/v1/namespaces/oracle/x/../configmaps", "/api/v1/namespaces/oracle-b/../oracle/configmaps/named", "/api/v1/./namespaces/oracle/configmaps",
		"/apis//v1/pods", "/apis/ex.io//widgets", "/apis/ex.io/v1/namespaces/oracle/widgets/..", "/api/v1/namespaces/Oracle/configmaps",
		"/api/v1/namespaces/oracle/configmaps;x=y", "/api/v1/namespaces/oracle/configmaps%3flimit=1", "/api/v1/watch/namespaces/oracle/configmaps/../../pods",
		"/api/v1/namespaces/oracle/secrets/../configmaps/named", "/api/v1/namespaces/oracle/configmaps/../secrets/canary", "/version/../metrics", "/healthz/../metrics",
		"/healthz/%2e%2e/metrics", "/readyz//x", "/api/v1" + strings.Repeat("/x", 4000), inFirstNamespace + strings.Repeat("/", 500), "/" + strings.Repeat("../", 50) + "etc/passwd",
	}
	factory := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	for name, user := range map[string]string{"nick": "nick", "robot": "system:serviceaccount:oracle:robot", "admin": "admin", "anonymous": "system:anonymous"} {
		o := w.as(t, f, name)
		for _, path := range paths {
			q := testkit.Question{Path: path}
			if info := parse(t, factory, path); info.Verb == "watch" {
				q.Path += "?timeoutSeconds=1"
			}
			way.since()
			o.Compare(t, q)
			for _, spec := range reviewed(t, way.since(), user) {
				asksAbout(t, path, parse(t, factory, path), spec)
			}
		}
	}
}

func parse(t *testing.T, factory *request.RequestInfoFactory, path string) *request.RequestInfo {
	t.Helper()
	u, err := url.Parse("https://facade" + path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := factory.NewRequestInfo(&http.Request{Method: http.MethodGet, URL: u})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// asksAbout checks that a review names the request that kube-apiserver parses from the path.
func asksAbout(t *testing.T, path string, info *request.RequestInfo, spec authorizationv1.SubjectAccessReviewSpec) {
	t.Helper()
	if !info.IsResourceRequest {
		if got := spec.NonResourceAttributes; got == nil || got.Path != info.Path || got.Verb != info.Verb {
			t.Errorf("%s: reviewed %+v", head([]byte(path)), got)
		}
		return
	}
	got := spec.ResourceAttributes
	text := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") } // as JSON has it; no object has such a name
	if got == nil || got.Verb != info.Verb || got.Group != info.APIGroup || got.Version != info.APIVersion || got.Resource != info.Resource ||
		got.Subresource != info.Subresource || got.Namespace != text(info.Namespace) || got.Name != text(info.Name) {
		t.Errorf("%s: reviewed %+v, want %+v", head([]byte(path)), got, info)
	}
}
