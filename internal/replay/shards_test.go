package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/journal"
)

// halves are the selectors of the two halves of all UIDs.
var halves = [...]string{
	"shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
	"shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
}

// inHalves are the names of the objects of shards, by the half of all hashes to which the hash of the UID belongs.
var inHalves = [len(halves)][]string{{"0-object", "3-object", "4-object"}, {"1-object", "2-object", "5-object"}}

// acceptHeaders are those of clients that accept plain JSON. The journal of shards has neither protobuf nor Tables.
var acceptHeaders = []string{
	"application/json",
	"application/vnd.kubernetes.protobuf,application/json",
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
}

// shards writes the journal of six ConfigMaps that all change after version 110.
func shards(t *testing.T) *writer {
	t.Helper()
	var before, after []journal.Record
	for i := range 6 {
		name := fmt.Sprintf("%d-object", i)
		before = append(before, configMaps.record(t, journal.Object, name, uint64(90+i)))
		after = append(after, configMaps.record(t, journal.Upsert, name, uint64(111+i)))
	}
	w := newWriter(t)
	w.begin(configMaps, 110, journal.Position{}, before...)
	w.add(configMaps, append(after, progress(130))...)
	w.close()
	return w
}

func shardQuery(selector string) string { return "shardSelector=" + url.QueryEscape(selector) }

// Clients receive the lists of shards with each Accept header, as from a facade. Pages and other selectors apply, too.
func TestShards(t *testing.T) {
	s := serve(t, shards(t).dir, "110")
	for _, accept := range acceptHeaders {
		for _, query := range []string{"", "limit=2&", "resourceVersion=0&", "resourceVersion=110&resourceVersionMatch=Exact&"} {
			for half, selector := range halves {
				var got []string
				for next := ""; len(got) == 0 || next != ""; {
					target := "/api/v1/configmaps?" + query + "continue=" + next + "&" + shardQuery(selector)
					response, body := s.get(t, target, accept)
					var list metav1.PartialObjectMetadataList
					if err := json.Unmarshal([]byte(body), &list); err != nil || response.StatusCode != http.StatusOK || len(list.Items) == 0 {
						t.Fatalf("%s as %s: got %s %s, error %v", target, accept, response.Status, body, err)
					}
					if info := list.ShardInfo; info == nil || info.Selector != selector {
						t.Errorf("%s as %s: got shardInfo %v, want the selector", target, accept, info)
					}
					for i := range list.Items {
						got = append(got, list.Items[i].Name)
					}
					if next = list.Continue; strings.Contains(query, "resourceVersion") && next != "" {
						t.Fatalf("%s: got a page, want all objects", target)
					}
				}
				if diff := cmp.Diff(inHalves[half], got); diff != "" {
					t.Errorf("%s as %s, half %d (-want +got):\n%s", query, accept, half, diff)
				}
			}
		}
	}
}

// A watch of a shard receives only the events of the shard's objects, with each Accept header.
func TestWatchesOfShards(t *testing.T) {
	s := serve(t, shards(t).dir, "110")
	watches := map[string][]func(int) string{}
	for _, accept := range acceptHeaders {
		for _, selector := range halves {
			target := "/api/v1/configmaps?watch=1&resourceVersion=110&" + shardQuery(selector)
			watches[accept] = append(watches[accept], s.watch(t, target, accept))
		}
	}
	s.player.advance(at(130))
	for accept, next := range watches {
		for half, names := range inHalves {
			var want []string
			for _, name := range names {
				want = append(want, fmt.Sprintf("MODIFIED %s %d", name, 111+int(name[0]-'0')))
			}
			if got := next[half](len(names)); got != strings.Join(want, ",") {
				t.Errorf("%s, half %d: got %s, want %s", accept, half, got, want)
			}
		}
	}
}

// Invalid selectors are refused as by a facade whose kube-apiserver ignores shards. If the replay does not have the
// version of a request, the refusal says so.
func TestRefusalsOfShards(t *testing.T) {
	s := serve(t, shards(t).dir, "110")
	for _, accept := range acceptHeaders {
		for _, test := range []struct {
			query, want string
			code        int
		}{
			{shardQuery("nonsense"), "invalid shard selector: unexpected expression", http.StatusInternalServerError},
			{shardQuery("1 +"), `"status":"Failure","message":"invalid shard selector: CEL parse error`, http.StatusInternalServerError},
			{"watch=1&" + shardQuery("1 +"), "invalid shard selector: CEL parse error", http.StatusInternalServerError},
			{"resourceVersion=50&resourceVersionMatch=Exact&" + shardQuery(halves[0]), textTooOld, http.StatusGone},
		} {
			response, body := s.get(t, "/api/v1/configmaps?"+test.query, accept)
			if response.StatusCode != test.code || !strings.Contains(body, test.want) {
				t.Errorf("%s as %s: got %s %s, want %d with %q", test.query, accept, response.Status, body, test.code, test.want)
			}
		}
	}
}
