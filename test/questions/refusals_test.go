package questions

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// collectionsOfEverySort are a built-in collection, one of custom resources, a cluster-scoped one, and one without a
// watch cache in kube-apiserver. The texts of refusals differ between them.
var collectionsOfEverySort = []string{
	"/api/v1/namespaces/oracle/configmaps", "/api/v1/configmaps", "/apis/ex.io/v1/namespaces/oracle/widgets", "/apis/ex.io/v1/widgets",
	"/api/v1/nodes", "/apis/ex.io/v1/gadgets", "/api/v1/namespaces/oracle/events", "/apis/apps/v1/deployments",
}

// badQueries are refused, or easily misread, on every collection.
var badQueries = []string{
	"resourceVersion=abc", "resourceVersion=-1", "resourceVersion=007", "resourceVersion=+1", "resourceVersion=18446744073709551616",
	"resourceVersion=1.5", "resourceVersion=0x10", "resourceVersion=%20", "resourceVersion=00", "resourceVersion=0&resourceVersion=abc",
	"resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersion=0&resourceVersionMatch=Exact",
	"resourceVersion=1&resourceVersionMatch=foo", "resourceVersionMatch=foo", "resourceVersion=1&resourceVersionMatch=exact",
	"resourceVersion=0&limit=abc", "resourceVersion=0&limit=", "resourceVersion=0&limit=-1", "resourceVersion=0&limit=99999999999999999999",
	"limit=0", "limit=1.5", "resourceVersion=0&limit=9223372036854775807",
	"timeoutSeconds=abc&resourceVersion=0", "timeoutSeconds=", "resourceVersion=0&timeoutSeconds=-1", "timeout=abc", "timeout=1", "timeout=-1s", "timeout=1h",
	"sendInitialEvents=true", "sendInitialEvents=false&resourceVersion=0", "sendInitialEvents=&resourceVersionMatch=x",
	"continue=abc", "continue=%25", "continue=e30", "resourceVersion=1&continue=e30", "resourceVersionMatch=Exact&continue=e30",
	"resourceVersion=0&labelSelector=a%20b", "resourceVersion=0&labelSelector=%21", "resourceVersion=0&labelSelector=a%20in%20b",
	"resourceVersion=0&labelSelector=a%3Db%3Dc", "resourceVersion=0&labelSelector=a,,b", "resourceVersion=0&labelSelector=a,",
	"resourceVersion=0&labelSelector=a%3Ex", "resourceVersion=0&labelSelector=a/b/c%3Dd", "resourceVersion=0&labelSelector=a%3Db%2525",
	"resourceVersion=0&labelSelector=%3Ca%3E", "resourceVersion=0&labelSelector=a%20gt%201", "resourceVersion=0&labelSelector=a%20in%20()",
	"resourceVersion=0&fieldSelector=foo", "resourceVersion=0&fieldSelector=foo%3Dbar", "resourceVersion=0&fieldSelector=metadata.name%3D%5Cx",
	"resourceVersion=0&fieldSelector=metadata.name%3Da%3Db", "resourceVersion=0&fieldSelector=metadata.name%3Da%2Fb",
	"resourceVersion=0&fieldSelector=metadata.name%3D..", "resourceVersion=0&fieldSelector=metadata.name%3D%25", "fieldSelector=,,,&resourceVersion=0",
	"resourceVersion=0&labelSelector=a%20b&fieldSelector=foo&limit=x", "resourceVersion=0&includeObject=foo", "resourceVersion=0&pretty=maybe",
	"resourceVersion=0&watch=0&allowWatchBookmarks=x", "resourceVersion=0&watch=FALSE", "export=true", "resourceVersion=0&shardSelector=x",
	"%zz=1&resourceVersion=0", "resourceVersion=0;limit=1", "resourceVersion=0&fieldSelector=%3Dx", "resourceVersion=0&&&=&=x", "resourceVersion=0&unknown=1&unknown=2",
}

func TestRefusedQueries(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for i, path := range collectionsOfEverySort {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "."), func(t *testing.T) {
			for _, query := range everyNth(2, i/2, badQueries) { // of two collections of one sort, each is asked the same
				o.Compare(t, testkit.Question{Path: path + "?" + query})
				if strings.Contains(query, "abc") || strings.Contains(query, "Selector") {
					o.Compare(t, testkit.Question{Path: path + "?" + query, Header: http.Header{"Accept": {tableV1}}})
				}
			}
			for _, token := range everyNth(2, i/2, badTokens) {
				o.Compare(t, testkit.Question{Path: path + "?limit=1&continue=" + encodedToken(token)})
			}
			// The facade refuses more than kube-apiserver here (docs/divergences.md).
			o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0" + strings.Repeat("&x=1", 99)})
		})
	}
}

// TestRefusedGets sends invalid requests for single objects, and valid ones that look invalid.
func TestRefusedGets(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for _, path := range []string{
		"/api/v1/namespaces/oracle/configmaps/alpha", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha", "/api/v1/nodes/node-0",
		"/apis/ex.io/v1/gadgets/oracle-1", "/api/v1/namespaces/oracle/events/alpha", "/api/v1/namespaces/oracle/configmaps/missing",
		"/apis/ex.io/v1/namespaces/oracle/widgets/missing", "/api/v1/namespaces/nowhere/configmaps/alpha",
	} {
		for _, query := range []string{
			"resourceVersion=abc", "resourceVersion=-1", "resourceVersion=007", "resourceVersion=0&limit=abc", "resourceVersion=0&watch=1",
			"resourceVersion=0&labelSelector=a%20b", "resourceVersion=0&fieldSelector=metadata.name%3Dother", "resourceVersion=0&export=true",
			"resourceVersion=0&export=false", "resourceVersion=0&exact=true", "resourceVersion=0&resourceVersionMatch=foo", "resourceVersion=0&timeout=x",
			"resourceVersion=0&pretty=true", "resourceVersion=0&includeObject=foo", "resourceVersion=0&timeoutSeconds=x",
		} {
			o.Compare(t, testkit.Question{Path: path + "?" + query})
		}
	}
}

// TestRefusedPaths requests missing objects, and existing ones in odd spellings.
func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for _, path := range []string{
		"/foo", "/foo/", "/api/v2", "/api/v2/pods", "/api/v1/foos", "/api/v1/foos/x", "/api/v1/namespaces/oracle/foos", "/api/v1/pods/x",
		"/api/v1/namespaces/oracle/nodes", "/api/v1/nodes/node-0/foo", "/api/v1/namespaces/oracle/pods/alpha/foo", "/api/v1/namespaces/oracle/pods/alpha/log/foo",
		"/apis/nope.io", "/apis/nope.io/v1", "/apis/nope.io/v1/things", "/apis/apps/v9", "/apis/apps/v9/deployments", "/apis/apps/v1/foos",
		"/apis/ex.io/v9/widgets", "/apis/ex.io/v1/foos", "/apis/ex.io/v1/widgets/alpha", "/apis/ex.io/v1/namespaces/oracle/gadgets",
		"/apis/ex.io/v1/namespaces/oracle/gadgets/oracle-1", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha/foo", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha/scale",
		"/apis/ex.io/v1/namespaces/oracle/widgets/alpha/status", "/api/v1/bindings", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
		"/api/v1/namespaces/oracle/configmaps/", "/api/v1/configmaps/", "/apis/ex.io/v1/widgets/", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha/",
		"//api/v1/configmaps", "/api//v1/configmaps", "/api/v1//configmaps", "/api/v1/namespaces//configmaps", "/api/v1/namespaces/oracle//configmaps",
		"/api/v1/namespaces/oracle/configmaps//alpha", "/api/v1/./configmaps", "/api/v1/../v1/configmaps", "/api/v1/namespaces/oracle/../oracle-b/configmaps",
		"/api/v1/namespaces/oracle/configmaps/..", "/api/v1/namespaces/oracle/configmaps/%2e%2e", "/api/v1/namespaces/oracle/configmaps/%2e%2e%2fsecrets",
		"/api/v1/namespaces/oracle%2fconfigmaps", "/api/v1/namespaces/oracle/configmaps/al%2fpha", "/api/v1/namespaces/oracle/configmaps/%25",
		"/api/v1/namespaces/oracle/configmaps/a%25b", "/api/v1/namespaces/oracle/configmaps/%61lpha", "/api/v1/namespaces/oracle/config%6daps",
		"/api/v1/namespaces/oracle/configmaps/al%20pha", "/api/v1/namespaces/oracle/configmaps/%00", "/api/v1/namespaces/oracle/configmaps/%ff",
		"/api/v1/namespaces/oracle/configmaps/ALPHA", "/api/v1/namespaces/ORACLE/configmaps", "/api/v1/namespaces/a%20b/configmaps", "/API/v1/configmaps",
		"/api/v1/namespaces/%25/configmaps", "/api/v1/namespaces/oracle/widgets", "/apis/v1/configmaps", "/api/apps/v1/deployments", "/apis//v1/configmaps",
		"/api/v1/namespaces", "/api/v1/namespaces/", "/api/v1/namespaces/oracle", "/api/v1/namespaces/oracle/", "/api/v1/namespaces/oracle/status",
		"/api/v1/namespaces/oracle/finalize", "/api/v1/namespaces/nowhere", "/api/v1/namespaces/nowhere/configmaps", "/api/v1/componentstatuses/missing",
		"/api/v1/watch", "/api/v1/watch/", "/apis/apps", "/apis/apps/", "/apis/apps/v1/", "/api/v1/", "/api/", "/apis/", "/",
		"/openapi", "/openapi/v2/x", "/openapi/v3/apis/nope.io/v1", "/version/x", "/swagger.json", "/apis/ex.io/", "/apis/ex.io/v1/",
	} {
		for _, query := range []string{"", "?resourceVersion=0"} {
			o.Compare(t, testkit.Question{Path: path + query})
		}
	}
}

// TestRefusedMediaTypes requests media types that do not exist.
func TestRefusedMediaTypes(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for _, path := range append([]string{"/api/v1/namespaces/oracle/configmaps/alpha", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha"}, collectionsOfEverySort...) {
		for _, accept := range []string{
			"text/html", "application/xml", "application/*", "*", "*/*;q=0", "application/json;q=0.1, application/yaml", "application/json;q=x",
			"application/cbor", "application/json;charset=utf-8", "application/json;stream=watch", "application/json;stream=foo", "application/json;sv=v2",
			"application/json;as=Table;v=v2;g=meta.k8s.io", "application/json;as=Table;v=v1;g=foo", "application/json;as=Foo;v=v1;g=meta.k8s.io",
			"application/json;as=Table", "application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
			"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", protobuf, protobuf + ";as=Table;v=v1;g=meta.k8s.io",
			"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.5,application/json", ",,,", "json",
		} {
			o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0", Header: http.Header{"Accept": {accept}}})
		}
		o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0&includeObject=foo", Header: http.Header{"Accept": {tableV1}}})
		o.Compare(t, testkit.Question{Path: path + "?resourceVersion=abc", Header: http.Header{"Accept": {tableV1}}})
		o.Compare(t, testkit.Question{Path: path + "?resourceVersion=abc", Header: http.Header{"Accept": {"application/yaml"}}})
		o.Compare(t, testkit.Question{Path: path + "?resourceVersion=abc", Header: http.Header{"User-Agent": {"curl/8"}}})
		o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0", Header: http.Header{"Accept": {"text/html", "application/json"}}})
	}
}

// A GET that opens a connection to a node or container is refused.
func TestConnections(t *testing.T) {
	o := newOracle(t)
	for _, path := range []string{
		"/api/v1/nodes/node-0/proxy", "/api/v1/nodes/node-0/proxy/metrics", "/api/v1/namespaces/oracle/pods/alpha/exec?command=x",
		"/api/v1/namespaces/oracle/pods/alpha/attach", "/api/v1/namespaces/oracle/pods/alpha/portforward", "/api/v1/namespaces/oracle/services/alpha/proxy/x",
		"/api/v1/proxy/nodes/node-0", "/api/v1/proxy/nodes/node-0?resourceVersion=0",
	} {
		assertRefused(t, o, testkit.Question{Path: path})
	}
}

// HEAD answers are equal. All other methods are refused without a request to the upstream.
func TestMethods(t *testing.T) {
	o := newOracle(t)
	paths := append([]string{
		"/api/v1/namespaces/oracle/configmaps/alpha", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha", "/apis/ex.io/v1/gadgets/oracle-1", "/version", "/apis", "/nowhere",
	}, collectionsOfEverySort...)
	forwarded := o.Answered(t, "upstream")
	for _, path := range paths {
		for _, method := range []string{
			http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace, http.MethodConnect, "FOO", "get",
		} {
			assertRefused(t, o, testkit.Question{Method: method, Path: path})
		}
	}
	if n := o.Answered(t, "upstream") - forwarded; n != 0 {
		t.Errorf("%d writes reached the upstream", n)
	}
	for _, path := range paths {
		o.Compare(t, testkit.Question{Method: http.MethodHead, Path: path})
	}
}

// assertRefused checks a refusal of the facade alone.
func assertRefused(t *testing.T, o *testkit.Oracle, q testkit.Question) {
	t.Helper()
	answer, err := o.Facade.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}` + "\n"
	if answer.Code != http.StatusMethodNotAllowed || string(answer.Body) != want {
		t.Errorf("%s: %d %q", q, answer.Code, answer.Body)
	}
}

// badTokens are continue tokens that no server issued.
var badTokens = []string{
	`x`, `{}`, `[]`, `{"v":"meta.k8s.io/v2","rv":1,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":1}`,
	`{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"/../../secrets/"}`, `{"v":"meta.k8s.io/v1","rv":"1","start":"a"}`,
	`{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":-7,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"zzz"}`,
	`{"v":"meta.k8s.io/v1","rv":-1,"start":"/"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"."}`, `{"v":"meta.k8s.io/v1","rv":1.5,"start":"a"}`,
	`{"v":"meta.k8s.io/v1","rv":-1,"start":"a//b"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"a/"}`, `{"v":"meta.k8s.io/v1","rv":9223372036854775808,"start":"a"}`,
	`{"V":"meta.k8s.io/v1","RV":-1,"START":"a","more":1}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"a"} `, `{"v":"meta.k8s.io/v1","rv":1,"start":"a"}`,
}

func encodedToken(token string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(token)) // safe in a query
}
