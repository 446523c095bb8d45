package questions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// form is one way to request the same objects: by Accept, query and User-Agent.
type form struct {
	name, accept, query, userAgent string
}

func (f form) question(path, query string) testkit.Question {
	q := testkit.Question{Path: path + "?" + query + f.query, Header: http.Header{}}
	if f.accept != "" {
		q.Header.Set("Accept", f.accept)
	}
	if f.userAgent != "" {
		q.Header.Set("User-Agent", f.userAgent)
	}
	return q
}

const (
	tableV1      = "application/json;as=Table;v=v1;g=meta.k8s.io"
	tableV1Beta1 = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
	partialList  = "application/json;as=PartialObjectMetadataList;v=%s;g=meta.k8s.io"
	partial      = "application/json;as=PartialObjectMetadata;v=%s;g=meta.k8s.io"
	protobuf     = "application/vnd.kubernetes.protobuf"
)

// commonForms are the forms that the cache serves for lists and for single objects.
var commonForms = []form{
	{name: "plain"},
	{name: "any type", accept: "*/*"},
	{name: "pretty", query: "&pretty=true"},
	{name: "pretty by Accept", accept: "application/json;pretty=1"},
	{name: "curl", userAgent: "curl/8.5.0"},
	{name: "curl, not pretty", userAgent: "curl/8.5.0", query: "&pretty=false"},
	{name: "table", accept: tableV1},
	{name: "table without objects", accept: tableV1, query: "&includeObject=None"},
	{name: "table of metadata", accept: tableV1, query: "&includeObject=Metadata"},
	{name: "table of objects", accept: tableV1, query: "&includeObject=Object"},
	{name: "table v1beta1", accept: tableV1Beta1},
	{name: "table v1beta1 without objects", accept: tableV1Beta1, query: "&includeObject=None"},
	{name: "table v1beta1 of objects", accept: tableV1Beta1, query: "&includeObject=Object"},
	{name: "table pretty", accept: tableV1, query: "&pretty=1"},
	{name: "yaml", accept: "application/yaml"},
	{name: "yaml, table", accept: "application/yaml;as=Table;v=v1;g=meta.k8s.io"},
	{name: "kubectl", accept: tableV1 + "," + tableV1Beta1 + ",application/json"},
}

var listForms = append([]form{
	{name: "partial", accept: fmt.Sprintf(partialList, "v1")},
	{name: "partial v1beta1", accept: fmt.Sprintf(partialList, "v1beta1")},
	{name: "partial pretty", accept: fmt.Sprintf(partialList, "v1"), query: "&pretty=true"},
}, commonForms...)

var objectForms = append([]form{
	{name: "partial", accept: fmt.Sprintf(partial, "v1")},
	{name: "partial v1beta1", accept: fmt.Sprintf(partial, "v1beta1")},
}, commonForms...)

// upstreamForms are the forms that the facade forwards.
var upstreamForms = []form{
	{name: "protobuf, else JSON", accept: protobuf + ",application/json"},
	{name: "partial protobuf", accept: protobuf + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
}

// mostRecentForms are some of listForms, as the encoding does not depend on the age of the answer.
var mostRecentForms = []form{
	{name: "partial", accept: fmt.Sprintf(partialList, "v1")}, {name: "plain"}, {name: "table", accept: tableV1},
	{name: "curl, table of objects", accept: tableV1, query: "&includeObject=Object", userAgent: "curl/8.5.0"},
}

// selections are the queries that select objects of a collection.
func selections() []string {
	var all []string
	for _, s := range []struct{ parameter, value string }{
		{"labelSelector", "oracle=one"}, {"labelSelector", "oracle in (one, two),!empty"}, {"labelSelector", "oracle notin (one)"},
		{"labelSelector", "app.kubernetes.io/part-of"}, {"labelSelector", "empty="}, {"labelSelector", "oracle!=two"},
		{"labelSelector", "oracle=missing"}, {"labelSelector", ""},
		{"fieldSelector", "metadata.name!=alpha"}, {"fieldSelector", "metadata.name=beta"}, {"fieldSelector", "metadata.name=oracle-1"},
		{"fieldSelector", "metadata.name="}, {"fieldSelector", "metadata.name=alpha,metadata.name=beta"},
		{"fieldSelector", "metadata.namespace=oracle"}, {"fieldSelector", "metadata.namespace!=oracle"},
		{"fieldSelector", "metadata.namespace=oracle-b,metadata.name=beta"}, {"fieldSelector", "spec.nowhere=x"},
	} {
		all = append(all, s.parameter+"="+url.QueryEscape(s.value))
	}
	return append(all, "labelSelector=oracle%3Done&fieldSelector=metadata.name%21%3Dbeta")
}

// printedByUpstream are the kinds whose Table rows depend on other objects. The facade forwards requests for them.
var printedByUpstream = sets.New("flowschemas", "storageclasses")

// The cache answers every form of every kind. No request is forwarded.
func TestEveryKindFromTheCache(t *testing.T) {
	t.Parallel()
	o := newOracle(t, cacheEverything)
	for i, kind := range fixturesOf(t) {
		t.Run(kind.String(), func(t *testing.T) {
			ask := func() {
				for _, path := range kind.paths() {
					askCollection(t, o, i, path)
				}
				for _, representation := range turn(i, mostRecentForms) {
					o.Compare(t, representation.question(kind.collection(""), "resourceVersion=0&labelSelector=oracle%3Dmissing"))
				}
				for _, object := range kind.objects[:min(settings.Amount(1, 2), len(kind.objects))] {
					askObject(t, o, i, kind.object(object), object.ResourceVersion)
				}
				o.Compare(t, testkit.Question{Path: kind.collection(kind.objects[0].Namespace) + "/missing?resourceVersion=0"})
			}
			if printedByUpstream.Has(kind.Resource) {
				ask()
				return
			}
			o.FromCache(t, ask)
		})
	}
}

// paths returns the paths of all namespaces and of one. A short run has only the first.
func (s served) paths() []string {
	all := []string{s.collection("")}
	if s.namespaced && !testing.Short() {
		all = append(all, s.collection(suite.FirstNamespace))
	}
	return all
}

func askCollection(t *testing.T, o *testkit.Oracle, kind int, path string) {
	t.Helper()
	for _, representation := range share(kind, listForms) {
		o.Compare(t, representation.question(path, "resourceVersion=0"))
	}
	for _, selection := range share(kind, selections()) {
		o.Compare(t, testkit.Question{Path: path + "?resourceVersion=0&" + selection})
	}
	version := versionOf(t, o.Facade, path+"?resourceVersion=0")
	for _, age := range share(kind, []string{
		"resourceVersion=0&limit=1", "resourceVersion=0&resourceVersionMatch=NotOlderThan", "resourceVersion=" + version,
		"resourceVersion=" + version + "&resourceVersionMatch=NotOlderThan&limit=1", "resourceVersion=" + version + "&resourceVersionMatch=Exact",
	}) {
		o.Compare(t, testkit.Question{Path: path + "?" + age})
	}
	for _, walk := range share(kind, []form{
		{query: "&limit=1"}, {query: "&limit=2&resourceVersionMatch=Exact"}, {query: "&limit=2&labelSelector=oracle", accept: tableV1},
	}) {
		followPages(t, o, path, "resourceVersion="+version+walk.query, form{accept: walk.accept})
	}
}

func askObject(t *testing.T, o *testkit.Oracle, kind int, path, version string) {
	t.Helper()
	for _, representation := range share(kind, objectForms) {
		o.Compare(t, representation.question(path, "resourceVersion=0"))
	}
	o.Compare(t, testkit.Question{Path: path + "?resourceVersion=" + version + "&limit=abc&watch=1"})
}

// The answers to consistent reads, and in forwarded encodings, are equal, whether cached or forwarded.
func TestEveryKindMostRecent(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for i, kind := range fixturesOf(t) {
		t.Run(kind.String(), func(t *testing.T) {
			for _, path := range turn(i, kind.collections()) {
				for _, representation := range share(i, slices.Concat(upstreamForms, mostRecentForms)) {
					o.Compare(t, representation.question(path, ""))
				}
				followPages(t, o, path, "limit=2", commonForms[0])
			}
			for _, selection := range share(i, selections()) {
				o.Compare(t, testkit.Question{Path: kind.collection("") + "?" + selection})
			}
			for _, object := range kind.objects[:1] {
				for _, representation := range share(i, slices.Concat(upstreamForms, mostRecentForms[1:])) {
					o.Compare(t, representation.question(kind.object(object), ""))
				}
			}
		})
	}
}

// maxPages is the limit of pages of a long collection, which is more than the fixtures need. A short run reads the
// first page, one in the middle with a token of each server, and the next one.
func maxPages() int { return settings.Amount(3, 8) }

// followPages reads a collection page by page. Each page is requested from both servers with the same token, which
// comes from one of them in turn.
func followPages(t *testing.T, o *testkit.Oracle, path, query string, f form) {
	t.Helper()
	next, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for page := 0; page <= maxPages(); page++ {
		q := f.question(path, next.Encode())
		token := continueOf(t, q, o.Compare(t, q))
		if page%2 == 1 {
			token = continueOf(t, q, o.Facade.MustAsk(t, q))
		}
		if token == "" {
			return
		}
		next.Del("resourceVersion")
		next.Del("resourceVersionMatch")
		next.Set("continue", token)
	}
}

// listMeta is the metadata of a list in any form.
type listMeta struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
}

func metaOfList(t *testing.T, q testkit.Question, answer *testkit.Answer) listMeta {
	t.Helper()
	var meta listMeta
	if err := json.Unmarshal(answer.Body, &meta); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %v: %s", q, answer.Code, err, answer.Body)
	}
	return meta
}

func continueOf(t *testing.T, q testkit.Question, answer *testkit.Answer) string {
	t.Helper()
	return metaOfList(t, q, answer).Metadata.Continue
}

func versionOf(t *testing.T, asker *testkit.Asker, path string) string {
	t.Helper()
	q := testkit.Question{Path: path}
	return metaOfList(t, q, asker.MustAsk(t, q)).Metadata.ResourceVersion
}
