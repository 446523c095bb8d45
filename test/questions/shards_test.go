package questions

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Shards (KEP-5866) of a kube-apiserver and of its facade are equal: lists, pages and watches. The two halves of a list
// make up the list.
func TestShards(t *testing.T) {
	settings.Long(t)
	t.Parallel() // this test has its own cluster
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiserver-arg=--feature-gates=ShardedListAndWatch=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	s := suite.NewFixture(t, own)
	const objects = 20
	for i := range objects {
		s.Put(t, suite.ConfigMaps, fmt.Sprint("o", i), "", "1")
	}
	o := s.Oracle(t, suite.StartFacade(t, own))
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	found := 0
	for _, bounds := range []string{"'0x0000000000000000', '0x8000000000000000'", "'0x8000000000000000', '0x10000000000000000'"} {
		shard := "shardSelector=" + url.QueryEscape("shardRange(object.metadata.uid, "+bounds+")")
		for _, query := range []string{"", "resourceVersion=0&", "limit=3&", "limit=3&resourceVersion=0&"} {
			o.Compare(t, testkit.Question{Path: path + "?" + query + shard})
		}
		answer := o.Facade.MustAsk(t, testkit.Question{Path: path + "?resourceVersion=0&" + shard})
		half := strings.Count(string(answer.Body), `"uid":`)
		if half == 0 || half == objects {
			t.Errorf("got %d objects of %d in a shard, want a part", half, objects)
		}
		found += half
		pair := suite.WatchBoth(t, o, testkit.Question{Path: path + "?watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1&" + shard})
		last := uint64(0)
		for i := range objects {
			name := fmt.Sprint("o", i)
			if rv := s.Put(t, suite.ConfigMaps, name, "", bounds); strings.Contains(string(answer.Body), `"name":"`+name+`"`) {
				last = rv
			}
		}
		pair.Same(t, last)
	}
	if found != objects {
		t.Errorf("got %d objects in both shards, want %d", found, objects)
	}
	for _, query := range []string{"shardSelector=nonsense", "watch=1&shardSelector=nonsense"} {
		o.Compare(t, testkit.Question{Path: path + "?" + query})
	}
}
