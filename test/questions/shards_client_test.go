package questions

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// servesShards configures a facade that applies shard selectors, whatever the upstream does.
func servesShards(c *facade.Config) { c.ShardSelectors = "always" }

// uidShard returns the selector of one of some equal shards.
func uidShard(i, of int64) sharding.Selector {
	bound := func(i int64) string {
		all := new(big.Int).Lsh(big.NewInt(1), 64)
		return fmt.Sprintf("0x%016x", all.Mul(all, big.NewInt(i)).Div(all, big.NewInt(of)))
	}
	return sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: bound(i), End: bound(i + 1)})
}

// shardTransport adds a shard selector to reads, for clients whose list options have none.
type shardTransport struct {
	http.RoundTripper
	selector string
}

// RoundTrip implements http.RoundTripper.
func (s shardTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		query.Set("shardSelector", s.selector)
		r.URL.RawQuery = query.Encode()
	}
	return s.RoundTripper.RoundTrip(r)
}

// TestShardsOfAnyUpstream: four informers of client-go, with a shard each, together have the objects of the upstream.
// Lists in both encodings contain the objects that apimachinery selects. The upstream ignores the selector.
func TestShardsOfAnyUpstream(t *testing.T) {
	t.Parallel()
	const shards, objects = 4, 40
	s := suite.NewFixture(t, suite.Cluster(t))
	for i := range objects {
		s.Put(t, suite.ConfigMaps, fmt.Sprint("o", i), "", "1")
	}
	run := suite.StartFacade(t, suite.Cluster(t), servesShards)
	var parts []toolscache.SharedIndexInformer
	for i := range int64(shards) {
		config, selector := rest.CopyConfig(run.Config), uidShard(i, shards)
		tweak := func(o *metav1.ListOptions) { o.ShardSelector = selector.String() }
		if i == 0 {
			tweak = nil
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return shardTransport{next, selector.String()} })
		}
		factory := informers.NewSharedInformerFactoryWithOptions(suite.NewClients(t, config).Typed, 0,
			informers.WithNamespace(s.Namespace), informers.WithTweakListOptions(tweak))
		parts = append(parts, factory.Core().V1().ConfigMaps().Informer())
		suite.StartInformer(t, parts[i])
	}
	for i := range objects {
		switch name := fmt.Sprint("o", i); i % 3 {
		case 0:
			s.Put(t, suite.ConfigMaps, name, "", "2")
		case 1:
			s.Remove(t, suite.ConfigMaps, name)
			s.Put(t, suite.ConfigMaps, name, "", "3") // with another UID
		default:
			s.Remove(t, suite.ConfigMaps, name)
		}
	}
	testkit.Eventually(t, "the informers have the upstream's objects", func() error {
		all := map[string]string{}
		for _, part := range parts {
			for key, version := range suite.Held(t, part) {
				all[key] += version // an object of two shards has another text
			}
		}
		if diff := cmp.Diff(s.Present(t, suite.ConfigMaps, metav1.ListOptions{}), all); diff != "" {
			return fmt.Errorf("(-upstream +informers)\n%s", diff)
		}
		return nil
	})
	for _, contentType := range []string{"application/json", protobuf} {
		listShards(t, s, run, contentType)
	}
}

// listShards compares lists of shards with those that apimachinery selects from the complete list.
func listShards(t *testing.T, s *suite.Fixture, run *suite.Facade, contentType string) {
	t.Helper()
	config := rest.CopyConfig(run.Config)
	config.ContentType = contentType
	configMaps := suite.NewClients(t, config).Typed.CoreV1().ConfigMaps(s.Namespace)
	all, err := configMaps.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		selector := uidShard(i, 3)
		want := slices.DeleteFunc(slices.Clone(all.Items), func(o corev1.ConfigMap) bool {
			selected, err := selector.Matches(&o)
			return err != nil || !selected
		})
		got, err := configMaps.List(context.Background(), metav1.ListOptions{ShardSelector: selector.String()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Items); diff != "" || got.ShardInfo == nil || got.ShardInfo.Selector != selector.String() {
			t.Errorf("%s of %s: got shardInfo %v (-want +got)\n%s", contentType, selector, got.ShardInfo, diff)
		}
	}
}
