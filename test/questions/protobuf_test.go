package questions

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	protobufPartial     = protobuf + ";as=PartialObjectMetadata;v=%s;g=meta.k8s.io"
	protobufPartialList = protobuf + ";as=PartialObjectMetadataList;v=%s;g=meta.k8s.io"
)

// protobufForms are the protobuf forms that the cache serves for lists and for single objects.
var protobufForms = []form{
	{name: "protobuf", accept: protobuf},
	{name: "a typed client's", accept: protobuf + ",application/json"},
	{name: "pretty", accept: protobuf, query: "&pretty=true"},
	{name: "curl", accept: protobuf, userAgent: "curl/8.5.0"},
	{name: "stream", accept: protobuf + ";stream=watch"},
	{name: "no Table", accept: protobuf + ";as=Table;v=v1;g=meta.k8s.io," + protobuf},
}

var protobufListForms = append([]form{
	{name: "partial", accept: fmt.Sprintf(protobufPartialList, "v1")},
	{name: "partial in either", accept: fmt.Sprintf(protobufPartialList, "v1") + "," + fmt.Sprintf(partialList, "v1") + ",application/json"},
}, protobufForms...)

var protobufObjectForms = append([]form{
	{name: "partial", accept: fmt.Sprintf(protobufPartial, "v1")},
	{name: "partial v1beta1", accept: fmt.Sprintf(protobufPartial, "v1beta1")},
}, protobufForms...)

// Preloaded resources have a lane in each of their encodings before the first request.
func TestPreloadedInProtobuf(t *testing.T) {
	o := newOracle(t, func(c *facade.Config) {
		c.Preload, c.PreloadEncodings = []string{"pods", "widgets.ex.io"}, []string{"json", "protobuf"}
	})
	const synced = `listfacade_lane_synced{encoding=%q,group=%q,resource=%q,version="v1"} 1`
	want := []string{
		fmt.Sprintf(synced, "json", "", "pods"), fmt.Sprintf(synced, "protobuf", "", "pods"), fmt.Sprintf(synced, "json", "ex.io", "widgets"),
	}
	testkit.Eventually(t, "the lanes are synced", func() error {
		metrics := string(o.Facade.MustAsk(t, testkit.Question{Path: "/metrics"}).Body)
		for _, line := range want {
			if !strings.Contains(metrics, line) {
				return fmt.Errorf("metrics lack %s", line)
			}
		}
		if lanes := strings.Count(metrics, "listfacade_lane_synced{"); lanes != len(want) {
			return fmt.Errorf("%d lanes", lanes)
		}
		return nil
	})
}

// hasProtobuf reports whether a kind is built in, and so has a protobuf encoding.
func hasProtobuf(t *testing.T, o *testkit.Oracle, kind served) bool {
	t.Helper()
	q := protobufForms[0].question(kind.collection(""), "limit=1")
	return o.Upstream.MustAsk(t, q).Code != http.StatusNotAcceptable
}

// The cache answers every protobuf form of every built-in kind. No request is forwarded.
func TestEveryKindInProtobuf(t *testing.T) {
	t.Parallel()
	o := newOracle(t, cacheEverything)
	kinds := 0
	for i, kind := range fixturesOf(t) {
		if !hasProtobuf(t, o, kind) {
			continue
		}
		kinds++
		t.Run(kind.String(), func(t *testing.T) {
			o.FromCache(t, func() {
				for _, path := range kind.paths() {
					askProtobufLists(t, o, i, path)
				}
				for _, object := range kind.objects[:min(settings.Amount(1, 2), len(kind.objects))] {
					for _, representation := range share(i, protobufObjectForms) {
						o.Compare(t, representation.question(kind.object(object), "resourceVersion=0"))
					}
				}
				o.Compare(t, protobufForms[0].question(kind.collection(kind.objects[0].Namespace)+"/missing", "resourceVersion=0"))
			})
		})
	}
	if kinds < 40 {
		t.Errorf("compared %d kinds", kinds)
	}
}

func askProtobufLists(t *testing.T, o *testkit.Oracle, kind int, path string) {
	t.Helper()
	for _, representation := range share(kind, protobufListForms) {
		o.Compare(t, representation.question(path, "resourceVersion=0"))
	}
	for _, selection := range share(kind, selections()) {
		for _, representation := range turn(kind, []form{protobufListForms[0], protobufForms[0]}) {
			o.Compare(t, representation.question(path, "resourceVersion=0&"+selection))
		}
	}
	version := protobufList(t, o.Facade.MustAsk(t, protobufForms[0].question(path, "resourceVersion=0")).Body).ResourceVersion
	exact := "resourceVersionMatch=Exact&resourceVersion=" + version
	for _, representation := range share(kind, append([]form{{accept: fmt.Sprintf(protobufPartialList, "v1beta1")}}, protobufListForms[:3]...)) {
		o.Compare(t, representation.question(path, exact))
		o.Compare(t, representation.question(path, exact+"&labelSelector=oracle%3Dmissing"))
		followProtobufPages(t, o, path, exact+"&limit=2", representation)
	}
	for _, age := range []string{"resourceVersion=" + version, "resourceVersionMatch=NotOlderThan&limit=1&resourceVersion=" + version} {
		o.Compare(t, protobufForms[0].question(path, age))
	}
	followProtobufPages(t, o, path, "limit=2&labelSelector=oracle&resourceVersion="+version, protobufForms[0])
}

// followProtobufPages reads a collection page by page, with tokens of each server in turn.
func followProtobufPages(t *testing.T, o *testkit.Oracle, path, query string, f form) {
	t.Helper()
	next, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for page := 0; page < maxPages(); page++ {
		q := f.question(path, next.Encode())
		answer := o.Compare(t, q)
		if page%2 == 1 {
			answer = o.Facade.MustAsk(t, q)
		}
		token := protobufList(t, answer.Body).Continue
		if token == "" {
			return
		}
		next.Del("resourceVersion")
		next.Del("resourceVersionMatch")
		next.Set("continue", token)
	}
}

// protobufList is a list's metadata.
func protobufList(t *testing.T, body []byte) metav1.ListMeta {
	t.Helper()
	var envelope runtime.Unknown
	enveloped, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if err := envelope.Unmarshal(enveloped); !ok || err != nil || !strings.HasSuffix(envelope.Kind, "List") {
		t.Fatalf("not a protobuf list: %v: %.200q", err, body)
	}
	if envelope.APIVersion == "meta.k8s.io/v1beta1" { // the one list whose items come first
		var list metav1beta1.PartialObjectMetadataList
		if err := list.Unmarshal(envelope.Raw); err != nil {
			t.Fatal(err)
		}
		return list.ListMeta
	}
	_, _, tag := protowire.ConsumeTag(envelope.Raw)
	head, n := protowire.ConsumeBytes(envelope.Raw[max(tag, 0):])
	var list metav1.ListMeta
	if err := list.Unmarshal(head); err != nil || n < 0 {
		t.Fatalf("a list that does not begin with its metadata: %v: %.200q", err, body)
	}
	return list
}

// TestProtobufRefusals compares refusals whose Status is encoded as protobuf.
func TestProtobufRefusals(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	const custom, builtin = "/apis/ex.io/v1/widgets", "/api/v1/configmaps"
	for _, path := range []string{builtin, custom, "/api/v1/namespaces/oracle/configmaps/alpha", "/apis/ex.io/v1/namespaces/oracle/widgets/alpha"} {
		for _, accept := range []string{
			protobuf + ";as=Table;v=v1;g=meta.k8s.io", protobuf + ";as=Foo;v=v1;g=meta.k8s.io", protobuf + ";stream=foo", protobuf + ";sv=v2",
			fmt.Sprintf(protobufPartial, "v2"), fmt.Sprintf(protobufPartial, "v1"), fmt.Sprintf(protobufPartialList, "v1"),
			"text/html," + protobuf, "text/html," + protobuf + ";as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.*", protobuf + ";q=0.1,application/json;q=0.2",
		} {
			o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0", Header: http.Header{"Accept": {accept}}})
		}
	}
	for i, query := range []string{
		"resourceVersion=abc", "limit=abc", "labelSelector=a+b", "fieldSelector=spec.nowhere%3Dx", "fieldSelector=x", "continue=abc", "resourceVersion=9999999999",
		"resourceVersion=1&resourceVersionMatch=Exact", "resourceVersionMatch=Exact", "continue=abc&resourceVersion=5", "timeout=abc", "watch=1&resourceVersion=abc",
		"watch=1&sendInitialEvents=true", "watch=1&labelSelector=a+b", "limit=1&resourceVersion=1",
	} {
		for j, path := range []string{builtin, "/api/v1/namespaces/oracle/configmaps", custom} {
			forms := []form{protobufForms[0], protobufForms[1], {accept: fmt.Sprintf(protobufPartialList, "v1")}}
			for _, representation := range everyNth(len(forms), i+j, forms) {
				o.Compare(t, representation.question(path, query))
			}
		}
	}
	for _, path := range []string{
		"/api/v1/namespaces/oracle/configmaps/missing", "/api/v1/namespaces/oracle/configmaps/alpha?resourceVersion=9999999999", "/apis/ex.io/v1/namespaces/oracle/widgets/missing",
		"/api/v1/namespaces/oracle/configmaps/alpha?resourceVersion=abc", "/api/v1/namespaces/nowhere/pods", "/api/v1/nodes/missing?resourceVersion=0",
		"/api/v1/namespaces/oracle/configmaps/..", "/api/v1/nothing", "/apis/nope.io/v1/x",
	} {
		for _, representation := range protobufForms[:2] {
			o.Compare(t, testkit.Question{Path: path, Header: representation.question("", "").Header})
		}
	}
}

// TestProtobufCompression compares bodies around the size limit of compression.
func TestProtobufCompression(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	collection := suite.Collection(suite.ConfigMaps, s.Namespace)
	put := func(padding int) uint64 {
		version := s.Put(t, suite.ConfigMaps, "padded", "", strings.Repeat("x", padding))
		suite.Reach(t, o, collection, version)
		return version
	}
	for name, f := range map[string]struct{ accept, path, query string }{
		"object": {protobuf, collection + "/padded", "resourceVersion=%d"},
		"list":   {protobuf, collection, "resourceVersionMatch=Exact&resourceVersion=%d"},
	} {
		t.Run(name, func(t *testing.T) {
			padding := gzipFrom - 1000
			for _, want := range []int{gzipFrom - 1, gzipFrom, gzipFrom + 1, 3 * gzipFrom} {
				var q testkit.Question
				for length := 0; length != want; padding += want - length {
					q = form{accept: f.accept}.question(f.path, fmt.Sprintf(f.query, put(padding)))
					length = len(o.Upstream.MustAsk(t, q).Body)
				}
				for _, accepted := range []string{"", "gzip", "deflate, gzip", "gzip;q=1.0", "identity"} {
					q.Header.Set("Accept-Encoding", accepted)
					answer := o.Compare(t, q)
					if compressed := answer.Header.Get("Content-Encoding") == "gzip"; accepted == "gzip" && compressed != (want > gzipFrom) {
						t.Errorf("%d bytes: compressed is %v", want, compressed)
					}
				}
			}
		})
	}
}
