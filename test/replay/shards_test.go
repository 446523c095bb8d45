package replay

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	plainJSON = "application/json"
	protobuf  = "application/vnd.kubernetes.protobuf,application/json"
	table     = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
)

// Clients of client-go receive the objects of shards that apimachinery selects from kube-apiserver's list, whatever
// they prefer. ConfigMaps are recorded in JSON, Leases in protobuf.
func TestShardsOfAReplay(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	dir := filepath.Join(t.TempDir(), "journal")
	var rv uint64
	for i := range kinds {
		if kinds[i].Resource == "configmaps" || kinds[i].Resource == "leases" {
			for n := range 10 {
				rv = kinds[i].put(t, s, fmt.Sprint("object-", n))
			}
		}
	}
	end := record(t, s, dir)
	awaitJournal(t, dir)
	rv = max(rv, s.Put(t, suite.ConfigMaps, "last", "", "1"))
	upstream := suite.NewClients(t, s.Config).Typed
	maps, err := upstream.CoreV1().ConfigMaps(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := upstream.CoordinationV1().Leases(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	end()
	config, _ := serve(t, dir, number(rv))
	for _, accept := range []string{plainJSON, protobuf, table} {
		prefers := rest.CopyConfig(config)
		prefers.AcceptContentTypes = accept
		typed := suite.NewClients(t, prefers).Typed
		for _, half := range halves {
			options := metav1.ListOptions{ShardSelector: half.String()}
			if accept != table { // ConfigMaps have recorded Tables
				got, err := typed.CoreV1().ConfigMaps(s.Namespace).List(t.Context(), options)
				if err != nil {
					t.Fatalf("%s: %v", accept, err)
				}
				compareShard(t, half, got.ListMeta, ofShard(half, maps.Items), got.Items)
			}
			got, err := typed.CoordinationV1().Leases(s.Namespace).List(t.Context(), options)
			if err != nil {
				t.Fatalf("%s: %v", accept, err)
			}
			compareShard(t, half, got.ListMeta, ofShard(half, leases.Items), got.Items)
		}
	}
}

// halves are the selectors of the two halves of all UIDs.
var halves = []sharding.Selector{uidRange("0x0000000000000000", "0x8000000000000000"), uidRange("0x8000000000000000", "0x10000000000000000")}

func uidRange(start, end string) sharding.Selector {
	return sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: start, End: end})
}

// ofShard returns the objects of a shard.
func ofShard[T corev1.ConfigMap | coordinationv1.Lease](shard sharding.Selector, all []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(o T) bool {
		selected, err := shard.Matches(any(&o).(runtime.Object))
		return err != nil || !selected
	})
}

func compareShard[T any](t *testing.T, shard sharding.Selector, of metav1.ListMeta, want, got []T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || of.ShardInfo == nil || of.ShardInfo.Selector != shard.String() {
		t.Errorf("%s: got shardInfo %v (-want +got)\n%s", shard, of.ShardInfo, diff)
	}
}
