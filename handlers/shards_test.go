package handlers

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire"
)

// shards are the selectors of the two halves of all namespaces. The fake upstream has no UIDs.
var shards = [...]string{
	"shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')",
	"shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
}

// shardQuery returns the query parameter of a shard selector.
func shardQuery(selector string) string { return "shardSelector=" + url.QueryEscape(selector) }

// overShards runs a test with a facade of objects in twenty namespaces. The upstream applies shard selectors, or
// ignores them.
func overShards(t *testing.T, mode ShardSelectors, applies bool, test func(*testing.T, *facade)) {
	t.Helper()
	inBubble(t, func(t *testing.T, f *facade) {
		for i := range 20 {
			f.Put(fmt.Sprintf("%d-team/o%d", i, i), "1")
		}
		f.applyShards(applies)
		test(t, f)
	}, func(c *Config) { c.ShardSelectors, c.Precompressed = mode, wire.NewPrecompressed(1<<20) })
}

// applyShards makes the upstream apply shard selectors, or ignore them. Only the answer to a probe shows that.
func (f *facade) applyShards(applies bool) {
	probe := func(w http.ResponseWriter, r *http.Request) {
		if !applies || r.URL.Query().Get("shardSelector") == "" {
			f.Truth(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d","shardInfo":{"selector":"x"}},"items":[]}`,
			f.RV())
	}
	f.Script(testkit.AskProbe, probe)
	f.Script("/api/v1/namespaces", probe)
}

// shardProbes counts the probes whether the upstream applies shard selectors.
func (f *facade) shardProbes() (n int) {
	for _, r := range f.Requests(testkit.AskProbe) {
		if r.URL.Query().Get("shardSelector") != "" {
			n++
		}
	}
	return n
}

// listOfShard is the part of a list that the tests read.
type listOfShard struct {
	Metadata struct {
		Continue  string
		ShardInfo *struct{ Selector string }
	}
	Items []struct{ Metadata struct{ Name string } }
}

func listedShard(t *testing.T, body string) (list listOfShard) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return list
}

// names adds the names of a list's objects to a set.
func (l listOfShard) names(to map[string]int) {
	for _, item := range l.Items {
		to[item.Metadata.Name]++
	}
}

// If the cache must not serve shards, a list or watch is forwarded unchanged and opens no lane. An empty selector
// selects everything.
func TestShardsAreForwarded(t *testing.T) {
	for mode, probes := range map[ShardSelectors]int{ForwardShards: 0, ShardsAsUpstream: 1} {
		overShards(t, mode, false, func(t *testing.T, f *facade) {
			for _, c := range []struct {
				target string
				ask    testkit.Ask
			}{
				{"/api/v1/configmaps?", testkit.AskList},
				{"/api/v1/configmaps?limit=1&", testkit.AskList},
				{"/api/v1/configmaps?resourceVersion=0&", testkit.AskList},
				{"/api/v1/namespaces/ns/configmaps?watch=1&resourceVersion=2&timeoutSeconds=1&", testkit.AskWatch},
				{"/api/v1/watch/namespaces/ns/configmaps?resourceVersion=2&timeoutSeconds=1&", ""}, // not in the fake upstream
			} {
				asked := f.Asked(c.ask)
				f.get(t, c.target+shardQuery(shards[0]))
				requests := f.Requests(c.ask)
				if c.ask != "" && (len(requests) != asked+1 || requests[asked].URL.Query().Get("shardSelector") != shards[0]) {
					t.Errorf("%s: got %d requests, want one more than %d, with the selector", c.target, len(requests), asked)
				}
				if e := f.events.last(); e.Source != observe.FromUpstream || e.Reason != observe.Unserved {
					t.Errorf("%s: got a response from %s because of %q", c.target, e.Source, e.Reason)
				}
			}
			if lanes, got := len(f.lanes.All()), f.shardProbes(); lanes != 0 || got != probes {
				t.Errorf("got %d lanes and %d probes, want none and %d", lanes, got, probes)
			}
			for _, target := range []string{
				"/api/v1/configmaps?resourceVersion=0&shardSelector=",
				"/api/v1/namespaces/0-team/configmaps/o0?resourceVersion=0&" + shardQuery(shards[0]),
			} {
				response, _ := f.get(t, target)
				if e := f.events.last(); response.StatusCode != http.StatusOK || e.Source != observe.FromCache {
					t.Errorf("%s: got %s from %s because of %q, want it from the cache", target, response.Status, e.Source, e.Reason)
				}
			}
		})
	}
}

// The cache serves shards if the upstream applies the selector, as it did when it was last asked.
func TestShardsAreServedAsByUpstream(t *testing.T) {
	overShards(t, ShardsAsUpstream, true, func(t *testing.T, f *facade) {
		source := func() observe.Source {
			t.Helper()
			f.get(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery(shards[0]))
			return f.events.last().Source
		}
		for range 2 {
			if got := source(); got != observe.FromCache || f.shardProbes() != 1 {
				t.Errorf("got a response from %s and %d probes, want the cache and one", got, f.shardProbes())
			}
		}
		f.applyShards(false)
		if source() != observe.FromCache {
			t.Error("got a forwarded list while the answer counts")
		}
		<-time.After(time.Minute)
		if source() != observe.FromUpstream {
			t.Error("got shards from the cache, although the upstream ignores the selector")
		}
		f.applyShards(true)
		<-time.After(time.Minute)
		f.Script(testkit.AskProbe, testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable"))
		if source() != observe.FromUpstream {
			t.Error("got another answer than the last one while the upstream cannot be asked")
		}
		f.applyShards(true)
		<-time.After(10 * time.Second)
		if source() != observe.FromCache {
			t.Error("got a forwarded list, although the upstream applies the selector")
		}
	})
}

// A caller without permission causes no probe.
func TestShardsAreProbedAfterAuthorization(t *testing.T) {
	overShards(t, ShardsAsUpstream, true, func(t *testing.T, f *facade) {
		f.allow = func(auth.Attributes) bool { return false }
		f.get(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery(shards[0]))
		if n := f.shardProbes(); n != 0 {
			t.Errorf("got %d probes, want none", n)
		}
	})
}

// While it is unknown whether the upstream applies the selector, the request is forwarded.
func TestShardsAreForwardedWhileProbesFail(t *testing.T) {
	overShards(t, ShardsAsUpstream, true, func(t *testing.T, f *facade) {
		f.Script(testkit.AskProbe, testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable"))
		for range 3 {
			f.get(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery(shards[0]))
			if e := f.events.last(); e.Source != observe.FromUpstream || e.Reason != observe.Undiscovered {
				t.Errorf("got a response from %s because of %q", e.Source, e.Reason)
			}
		}
		if n := f.shardProbes(); n != 1 {
			t.Errorf("got %d probes in a moment, want one", n)
		}
	})
}

// A resource that the facade may not list does not decide for others: namespaces show whether the upstream applies the
// selector.
func TestShardsOfUnreadableResourceAreProbedElsewhere(t *testing.T) {
	overShards(t, ShardsAsUpstream, true, func(t *testing.T, f *facade) {
		f.Script(testkit.AskProbe, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("shardSelector") == "" {
				f.Truth(w, r)
				return
			}
			testkit.Refuse(http.StatusForbidden, "Forbidden")(w, r)
		})
		f.get(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery(shards[0]))
		if e := f.events.last(); e.Source != observe.FromCache {
			t.Errorf("got a response from %s because of %q, want the cache", e.Source, e.Reason)
		}
	})
}

// The shards of a list, of its pages, and of a watch make up all objects, from an upstream that ignores the selector.
func TestShardsMakeUpTheList(t *testing.T) {
	overShards(t, ServeShards, false, func(t *testing.T, f *facade) {
		for _, query := range []string{"", "resourceVersion=0&", "limit=3&", "watch=1&resourceVersion=1&timeoutSeconds=1&"} {
			all := map[string]int{}
			for _, shard := range shards {
				next := ""
				for page := 0; page == 0 || next != ""; page++ {
					target := "/api/v1/configmaps?" + query + "continue=" + next + "&" + shardQuery(shard)
					_, body := f.get(t, target)
					if e := f.events.last(); e.Source != observe.FromCache {
						t.Fatalf("%s: got a response from %s because of %q: %s", target, e.Source, e.Reason, body)
					}
					if strings.HasPrefix(query, "watch") {
						for frame := range strings.Lines(body) {
							_, name, _ := strings.Cut(frame, `"name":"`)
							all[name[:strings.Index(name, `"`)]]++
						}
						break
					}
					list := listedShard(t, body)
					if list.names(all); list.Metadata.ShardInfo == nil || list.Metadata.ShardInfo.Selector != shard ||
						strings.Contains(body, "remainingItemCount") {
						t.Errorf("%s: got metadata %+v, want the selector, and no number of further objects", target, list.Metadata)
					}
					next = list.Metadata.Continue
				}
			}
			for name, n := range all {
				if n != 1 {
					t.Errorf("%s: got %s %d times", query, name, n)
				}
			}
			if len(all) != 20 {
				t.Errorf("%s: got %d objects in both shards, want 20", query, len(all))
			}
		}
	})
}

// Precompressed pages of one shard are not served to a client of another one.
func TestShardsDoNotShareCompressedPages(t *testing.T) {
	overShards(t, ServeShards, false, func(t *testing.T, f *facade) {
		for i := range 20 {
			f.Put(fmt.Sprintf("%d-team/o%d", i, i), strings.Repeat("x", 32<<10)) // large enough for compression
		}
		synctest.Wait()
		for range 3 { // the second list makes the pages, the third one uses them
			all := map[string]int{}
			for _, shard := range shards {
				listedShard(t, f.unzipped(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery(shard))).names(all)
			}
			if len(all) != 20 {
				t.Errorf("got %d objects in both shards, want 20", len(all))
			}
		}
	})
}

// unzipped sends a GET that accepts gzip only, and returns the body.
func (f *facade) unzipped(t *testing.T, target string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := f.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	unzip, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatalf("%s %v: %v", response.Status, response.Header, err)
	}
	body, err := io.ReadAll(unzip)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Tables and PartialObjectMetadataLists of shards do not contain the selector, as from kube-apiserver.
func TestShardInfoIsOnlyInPlainLists(t *testing.T) {
	overShards(t, ServeShards, false, func(t *testing.T, f *facade) {
		for accept, want := range map[string]bool{
			"application/json": true, "application/yaml": true,
			"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1": false,
		} {
			response, body, err := f.tryFor(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery(shards[0]), accept)
			if err != nil || response.StatusCode != http.StatusOK || strings.Contains(body, "shardInfo") != want {
				t.Errorf("%s: got %s %s, want shardInfo: %t", accept, response.Status, body, want)
			}
		}
	})
}

// Errors of selectors are kube-apiserver's. If only kube-apiserver knows its words, it answers.
func TestInvalidShardsAreRefusedInUpstreamsWords(t *testing.T) {
	const words = "invalid shard selector: unexpected expression kind 3; expected shardRange() call or || operator"
	overShards(t, ShardsAsUpstream, true, func(t *testing.T, f *facade) {
		for _, query := range []string{"", "watch=1&", "limit=1&continue=x&resourceVersion=y&"} {
			response, body := f.get(t, "/api/v1/configmaps?"+query+shardQuery("nonsense"))
			if response.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `"message":"`+words+`","code":500}`) {
				t.Errorf("%s: got %s %s, want %s", query, response.Status, body, words)
			}
		}
		f.get(t, "/api/v1/configmaps?"+shardQuery("1 +"))
		if e := f.events.last(); e.Source != observe.FromUpstream || e.Reason != observe.OwnWords {
			t.Errorf("got a response from %s because of %q, want the upstream's own words", e.Source, e.Reason)
		}
	})
}

// An upstream that ignores the selector would answer with all objects. Therefore it gets no request for shards, except
// those that it refuses.
func TestShardsAreNotForwardedToAnUpstreamThatIgnoresThem(t *testing.T) {
	overShards(t, ServeShards, false, func(t *testing.T, f *facade) {
		f.get(t, "/api/v1/configmaps?resourceVersion=0")
		first := f.RV()
		for range 3 {
			f.Elsewhere()
		}
		f.SetOffline(true)
		f.get(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery(shards[0]))
		asked := f.Asked(testkit.AskList)
		const json = "application/json"
		for _, c := range []struct {
			query, accept string
			code          int
		}{
			{"", json, http.StatusServiceUnavailable},
			{"watch=1&", json, http.StatusTooManyRequests},
			{"resourceVersion=0&", "application/*", http.StatusNotImplemented},
			{fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=Exact&", first-10), json, http.StatusGone},
			{"resourceVersion=0&", json, http.StatusOK},
		} {
			response, body, err := f.tryFor(t, "/api/v1/configmaps?"+c.query+shardQuery(shards[0]), c.accept)
			if err != nil || response.StatusCode != c.code {
				t.Errorf("%q %s: got %s %s, want %d", c.query, c.accept, response.Status, body, c.code)
			}
		}
		response, body := f.get(t, "/api/v1/configmaps?resourceVersion=0&"+shardQuery("1 +"))
		if response.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "CEL parse error") {
			t.Errorf("got %s %s, want a syntax error", response.Status, body)
		}
		if got := f.Asked(testkit.AskList); got != asked {
			t.Errorf("got %d forwarded lists, want none", got-asked)
		}
	})
}

// A resource that is never cached has no shards if the upstream ignores the selector.
func TestShardsOfUncachedResourcesAreRefused(t *testing.T) {
	for applies, code := range map[bool]int{false: http.StatusNotImplemented, true: http.StatusOK} {
		inBubble(t, func(t *testing.T, f *facade) {
			f.applyShards(applies)
			response, body := f.get(t, "/api/v1/configmaps?"+shardQuery(shards[0]))
			if response.StatusCode != code {
				t.Errorf("applies %t: got %s %s, want %d", applies, response.Status, body, code)
			}
		}, func(c *Config) {
			c.ShardSelectors, c.Uncached = ServeShards, map[schema.GroupResource]bool{{Resource: "configmaps"}: true}
		})
	}
}
