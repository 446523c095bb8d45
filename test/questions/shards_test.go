package questions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// shardObjects is the number of objects of each resource.
const shardObjects = 20

// shardSelectors are the two halves of all UIDs, a part of one in two ranges, and all objects.
var shardSelectors = []string{
	"shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
	"shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
	"shardRange(object.metadata.uid,\"0xa000000000000000\",\"0xb800000000000000\") || (shardRange(object.metadata.uid, '0x1000000000000000', '0x2000000000000000'))",
	"shardRange(object.metadata.namespace, '0x0000000000000000', '0x10000000000000000')",
}

// TestShards compares shards (KEP-5866) of a kube-apiserver that has them with those of its facade: lists and pages in
// each representation, with and without other selectors, watches, and refusals.
func TestShards(t *testing.T) {
	settings.Long(t)
	t.Parallel() // this test has its own cluster
	own, err := testkit.StartCluster(t.Context(), suite.WithoutControllers, "--apiserver-arg=--feature-gates=ShardedListAndWatch=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	s := suite.NewFixture(t, own)
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, own))
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		var last uint64
		for i := range shardObjects {
			last = s.Put(t, gvr, fmt.Sprint("o", i), []string{"half=even", "half=odd"}[i%2], "1")
		}
		for _, accept := range []string{"", protobuf} {
			if gvr == suite.Gadgets && accept == protobuf {
				continue
			}
			suite.ReachIn(t, o, suite.Collection(gvr, ""), accept, last)
			compareShards(t, o, suite.Collection(gvr, s.Namespace), accept)
			watchShards(t, o, s, gvr, accept)
		}
		compareShards(t, o, suite.Collection(gvr, ""), "")
	}
	compareShards(t, o, "/api/v1/namespaces", "") // cluster-scoped
	compareShards(t, o, "/api/v1/events", "")     // without a watch cache
	compareInvalidShards(t, o, suite.Collection(suite.ConfigMaps, s.Namespace))
	compareInvalidShards(t, o, suite.Collection(suite.Gadgets, ""))
}

// compareShards compares lists.
func compareShards(t *testing.T, o *testkit.Oracle, path, accept string) {
	t.Helper()
	accepts := []string{accept, partialShards(accept)}
	if accept == "" {
		accepts = append(accepts, tableV1, "application/yaml")
	}
	for _, shard := range shardSelectors {
		parameter := "shardSelector=" + url.QueryEscape(shard)
		for _, accept := range accepts {
			o.FromCache(t, func() { o.Compare(t, shardQuestion(path+"?resourceVersion=0&"+parameter, accept)) })
		}
		for _, query := range []string{
			"", "limit=3&", "limit=3&resourceVersion=0&", "labelSelector=half%3Deven&", "labelSelector=half%3Dodd&limit=3&",
			"fieldSelector=metadata.name%3Do3&", "fieldSelector=metadata.name%21%3Do3&limit=500&", "fieldSelector=metadata.name%3Do3&limit=1&",
		} {
			o.Compare(t, shardQuestion(path+"?"+query+parameter, accept))
		}
		next := ""
		for page := 0; page == 0 || next != ""; page++ {
			answer := o.Compare(t, shardQuestion(path+"?limit=3&continue="+next+"&"+parameter, ""))
			var list struct{ Metadata struct{ Continue string } }
			if err := json.Unmarshal(answer.Body, &list); err != nil {
				t.Fatalf("%v: %s", err, answer.Body)
			}
			next = list.Metadata.Continue
		}
	}
}

func shardQuestion(path, accept string) testkit.Question {
	if accept == "" {
		return testkit.Question{Path: path}
	}
	return testkit.Question{Path: path, Header: http.Header{"Accept": {accept}}}
}

func partialShards(accept string) string {
	if accept == "" {
		accept = "application/json"
	}
	return accept + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
}

// watchShards compares watches while all objects change, and some are deleted and created again, with another UID.
func watchShards(t *testing.T, o *testkit.Oracle, s *suite.Fixture, gvr schema.GroupVersionResource, accept string) {
	t.Helper()
	path := suite.Collection(gvr, s.Namespace)
	began := s.Put(t, gvr, "o0", "half=even", "watched "+accept)
	suite.ReachIn(t, o, path, accept, began)
	pairs := map[string][]suite.Pair{}
	for _, shard := range shardSelectors[:2] {
		for _, query := range []string{
			"sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1&", fmt.Sprintf("resourceVersion=%d&", began),
			fmt.Sprintf("resourceVersion=%d&labelSelector=half%%3Deven&", began),
		} {
			pairs[shard] = append(pairs[shard],
				suite.WatchBoth(t, o, shardQuestion(path+"?watch=1&"+query+"shardSelector="+url.QueryEscape(shard), accept)))
		}
	}
	for i := range shardObjects {
		name := fmt.Sprint("o", i)
		s.Put(t, gvr, name, []string{"half=odd", "half=even"}[i%2], "2") // enters or leaves the label selector
		if i%3 == 0 {
			s.Remove(t, gvr, name)
			s.Put(t, gvr, name, "half=even", "3")
		}
	}
	for i := range shardObjects {
		s.Put(t, gvr, fmt.Sprint("end", i), "half=even", "4") // each shard has some of them
	}
	for _, shard := range shardSelectors[:2] {
		last := lastOfShard(t, o, path, shard)
		for _, pair := range pairs[shard] {
			pair.Same(t, last)
		}
	}
	for i := range shardObjects {
		s.Remove(t, gvr, fmt.Sprint("end", i))
		s.Put(t, gvr, fmt.Sprint("o", i), []string{"half=even", "half=odd"}[i%2], "5")
	}
}

// lastOfShard returns the highest version of kube-apiserver's objects in a shard.
func lastOfShard(t *testing.T, o *testkit.Oracle, path, shard string) uint64 {
	t.Helper()
	answer := o.Upstream.MustAsk(t, testkit.Question{Path: path + "?labelSelector=half%3Deven&shardSelector=" + url.QueryEscape(shard)})
	var list struct {
		Items []struct {
			Metadata struct{ ResourceVersion string }
		}
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("got %d objects of a shard, and %v: %s", len(list.Items), err, answer.Body)
	}
	last := uint64(0)
	for _, item := range list.Items {
		last = max(last, suite.RVOf(t, item.Metadata.ResourceVersion))
	}
	return last
}

// compareInvalidShards compares refusals, and the order of errors in a request with several.
func compareInvalidShards(t *testing.T, o *testkit.Oracle, path string) {
	t.Helper()
	valid := "shardSelector=" + url.QueryEscape(shardSelectors[0])
	queries := []string{valid + "&shardSelector=nonsense", "shardSelector=&" + valid, valid + "&resourceVersion=abc", valid + "&continue=abc",
		valid + "&limit=x", valid + "&fieldSelector=foo%3Dbar", valid + "&labelSelector=a%20b", valid + "&sendInitialEvents=1",
		valid + "&resourceVersionMatch=Exact", valid + "&resourceVersion=1&resourceVersionMatch=Exact&limit=1"}
	for _, shard := range []string{"nonsense", " ", "\u00a0", "shardRange()", "foo(x)", "1 + 1", "shardRange(", "x && y", "'a'", "a.b.c",
		"shardRange(object.metadata.uid, '0x0', '0x8000000000000000')", "shardRange(object.metadata.name, '0x0', '0x8')",
		strings.ReplaceAll(shardSelectors[0], "0x8", "0x0"), shardSelectors[0] + "||" + shardSelectors[3], shardSelectors[0] + "|| nonsense",
		"// a comment\n" + shardSelectors[0]} {
		invalid := "shardSelector=" + url.QueryEscape(shard)
		queries = append(queries, invalid, "resourceVersion=0&"+invalid, "resourceVersion=abc&"+invalid, "fieldSelector=foo%3Dbar&"+invalid,
			"limit=1&continue=abc&"+invalid)
	}
	for _, query := range queries {
		for _, watch := range []string{"", "watch=1&timeoutSeconds=1&"} {
			if watch == "" || slices.Contains(queries[5:8], query) || !strings.Contains(query, valid) {
				o.Compare(t, testkit.Question{Path: path + "?" + watch + query})
			}
		}
	}
}
