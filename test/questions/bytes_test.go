package questions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// gzipFrom is the size in bytes above which kube-apiserver compresses (semantics 6.6).
const gzipFrom = 128 << 10

// TestCompression compares bodies around the size limit of compression, and requests with unusual Accept-Encoding
// headers.
func TestCompression(t *testing.T) {
	o := newOracle(t)
	config, err := suite.Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	padded := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(suite.EmptyNamespace)
	t.Cleanup(func() { _ = padded.Delete(t.Context(), "padded", metav1.DeleteOptions{}) }) // the cluster ends anyway
	pad := func(n int) {
		patch, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "padded", "labels": map[string]any{"padded": "yes"}},
			"data": map[string]any{"x": strings.Repeat("x", n)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := padded.Patch(t.Context(), "padded", types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	base := "/api/v1/namespaces/" + suite.EmptyNamespace + "/configmaps"
	for name, path := range map[string]string{
		"object": base + "/padded?resourceVersion=%s", "list": base + "?labelSelector=padded&resourceVersion=%s&resourceVersionMatch=NotOlderThan",
		"most recent": base + "?labelSelector=padded%.0s", "pretty": base + "/padded?pretty=true&resourceVersion=%s",
	} {
		t.Run(name, func(t *testing.T) {
			padding := gzipFrom - 1000
			for _, want := range []int{gzipFrom, gzipFrom + 1, 3 * gzipFrom} {
				at := ""
				for length := 0; length != want; padding += want - length { // versions grow, too
					pad(padding)
					at = fmt.Sprintf(path, current(t, o, base))
					length = len(ask(t, o.Upstream, at).Body)
				}
				accepts := []string{"", "gzip"}
				if name == "object" {
					accepts = append(accepts, "deflate, gzip", "gzip;q=1.0", "GZIP", "br,gzip ,x", "identity")
				}
				for _, accepted := range accepts {
					answer := o.Compare(t, testkit.Question{Path: at, Header: http.Header{"Accept-Encoding": {accepted}}})
					if compressed := answer.Header.Get("Content-Encoding") == "gzip"; accepted == "gzip" && compressed != (want > gzipFrom) {
						t.Errorf("%d bytes: got compressed %v", want, compressed)
					}
				}
			}
		})
	}
}

// ask requests a path from one server.
func ask(t *testing.T, asker *testkit.Asker, path string) *testkit.Answer {
	t.Helper()
	answer, err := asker.Ask(t.Context(), testkit.Question{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// current returns the version of the padded object.
func current(t *testing.T, o *testkit.Oracle, base string) string {
	t.Helper()
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(ask(t, o.Upstream, base+"/padded").Body, &object); err != nil {
		t.Fatal(err)
	}
	return object.ResourceVersion
}

// Answers for deprecated kinds and versions have a warning, also refusals.
func TestDeprecationWarnings(t *testing.T) {
	o := newOracle(t)
	for _, path := range []string{
		"/api/v1/endpoints?resourceVersion=0", "/api/v1/namespaces/oracle/endpoints/manual-1?resourceVersion=0", "/api/v1/namespaces/oracle/endpoints/missing?resourceVersion=0",
		"/api/v1/namespaces/oracle/endpoints?limit=1", "/api/v1/endpoints?resourceVersion=abc", "/api/v1/endpoints?resourceVersion=0&fieldSelector=x",
		"/apis/ex.io/v1beta1/gadgets?resourceVersion=0", "/apis/ex.io/v1beta1/gadgets/oracle-1?resourceVersion=0", "/apis/ex.io/v1beta1/gadgets/missing?resourceVersion=0",
		"/apis/ex.io/v1beta1/gadgets?limit=1", "/api/v1/componentstatuses/etcd-0", "/api/v1/componentstatuses/etcd-0?resourceVersion=0",
	} {
		answer := o.Compare(t, testkit.Question{Path: path})
		if len(answer.Header.Values("Warning")) != 1 {
			t.Errorf("%s: warnings %q, want one", path, answer.Header.Values("Warning"))
		}
	}
}

// ComponentStatuses have no versions and no fixed order.
func TestComponentStatuses(t *testing.T) {
	o := newOracle(t)
	read := func(asker *testkit.Asker) ([]corev1.ComponentStatus, http.Header) {
		answer := ask(t, asker, "/api/v1/componentstatuses?resourceVersion=0")
		var list corev1.ComponentStatusList
		if err := json.Unmarshal(answer.Body, &list); err != nil {
			t.Fatalf("%s: %v", answer.Body, err)
		}
		slices.SortFunc(list.Items, func(a, b corev1.ComponentStatus) int { return strings.Compare(a.Name, b.Name) })
		return list.Items, answer.Header
	}
	testkit.Eventually(t, "both report the same statuses", func() error { // each request probes them
		want, wantHeader := read(o.Upstream)
		got, gotHeader := read(o.Facade)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			return fmt.Errorf("(-upstream +facade):\n%s", diff)
		}
		if diff := cmp.Diff(wantHeader.Values("Warning"), gotHeader.Values("Warning")); diff != "" {
			return fmt.Errorf("warnings (-upstream +facade):\n%s", diff)
		}
		return nil
	})
	o.Compare(t, testkit.Question{Path: "/api/v1/componentstatuses?watch=1"})
}

// TestDocuments compares discovery and OpenAPI documents, in every encoding and with conditional requests.
func TestDocuments(t *testing.T) {
	o := newOracle(t)
	const aggregated = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for _, path := range []string{
		"/api", "/apis", "/api/", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/ex.io", "/apis/ex.io/v1", "/apis/ex.io/v1beta1", "/version", "/openapi/v2",
		"/openapi/v3", "/openapi/v3/apis/ex.io/v1", "/openapi/v3/version", "/.well-known/openid-configuration", "/openid/v1/jwks",
	} {
		accepts := []string{"", "application/json", "application/yaml", protobuf, "text/html", "application/*"}
		if !strings.HasPrefix(path, "/openapi") {
			accepts = append(accepts, "application/json;"+aggregated+",application/json", protobuf+";"+aggregated,
				"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList")
		}
		if path == "/openapi/v2" {
			accepts = accepts[:1] // 2 MB of it
		}
		for i, accept := range accepts {
			if testing.Short() && i > 1 {
				o.Compare(t, testkit.Question{Path: path, Header: http.Header{"Accept": {accept}}})
				continue
			}
			compareDocument(t, o, path, accept)
		}
		o.Compare(t, testkit.Question{Path: path, Header: http.Header{"Accept-Encoding": {"gzip"}}})
		o.Compare(t, testkit.Question{Path: path + "?pretty=true"})
	}
	compareDocument(t, o, "/openapi/v2", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
	compareDocument(t, o, "/openapi/v3/apis/ex.io/v1", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf")
	for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/ex.io", "/apis/ex.io/v1", "/version", "/openapi/v3", "/openapi/v3/version"} {
		for name, values := range oddHeaders {
			for _, value := range values {
				q := testkit.Question{Path: path, Header: http.Header{name: {value}}}
				if name == "User-Agent" {
					o.Compare(t, testkit.Question{Path: path + "?pretty=false", Header: q.Header})
				}
				o.Compare(t, q)
			}
		}
	}
	for _, encoding := range oddHeaders["Accept-Encoding"] { // of OpenAPI v2, which reads it in its own way
		o.Compare(t, testkit.Question{Path: "/openapi/v2", Header: http.Header{
			"Accept-Encoding": {encoding}, "Accept": {"application/com.github.proto-openapi.spec.v2@v1.0+protobuf"},
		}})
	}
}

// oddHeaders request the representation of a document in unusual ways.
var oddHeaders = map[string][]string{
	"Accept": {
		"application/json;q=0.5,application/yaml;q=0.4", "*/*;q=1,application/yaml;q=0.1", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		"application/x-anything,application/json", "application/json;charset=utf-8;x=y", "application/json;stream=watch", "application/json;stream=x,application/yaml",
		"application/json;pretty=1", "application/json;pretty=1,*/*", "application/json;as=Table;g=meta.k8s.io;v=v1,application/yaml",
		"application/json;as=Table;g=meta.k8s.io;v=v1", "application/*,application/yaml", "application/json;sv=v1,application/yaml", "*/json", "*", "json", "application/cbor",
		"application/json,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;pretty=1", "*/*;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		"application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/vnd.kubernetes.protobuf",
		"application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/yaml", "application/json" + strings.Repeat(",*/*", 14),
	},
	"Accept-Encoding": {"gzip;q=1", "GZIP", "gzip;q=0", "gzip, gzip;q=0", "gzip;q=0, gzip", "br, gzip", "*", "gzip;x=1", "gzip;q=0;x", "gzip;q=x", "identity;q=0"},
	"User-Agent":      {"curl/8", "Wget/1", "Mozilla/5.0 (X11)", "Mozilla/4.0", "curly", "Curl/8", "HTTPie/3"},
}

func compareDocument(t *testing.T, o *testkit.Oracle, path, accept string) {
	t.Helper()
	q := testkit.Question{Path: path, Header: http.Header{}}
	if accept != "" {
		q.Header.Set("Accept", accept)
	}
	answer := o.Compare(t, q)
	tag := answer.Header.Get("Etag")
	if tag == "" {
		return
	}
	for name, values := range map[string][]string{
		"If-None-Match": {tag, `"other"`, `"other", ` + tag, "W/" + tag, "*"}, "If-Match": {tag, `"other"`}, "Range": {"bytes=10-19", "bytes=x"},
		"If-Modified-Since": {"Fri, 01 Jan 2100 00:00:00 GMT"}, "If-Unmodified-Since": {"Wed, 01 Jan 2020 00:00:00 GMT"},
	} {
		for _, value := range values {
			condition := q
			condition.Header = q.Header.Clone()
			condition.Header.Set(name, value)
			o.Compare(t, condition)
		}
	}
}
