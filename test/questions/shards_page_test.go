package questions

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// TestShardOfPage contains the code of docs/clients.md. It selects the first of four parts of the objects.
func TestShardOfPage(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("shards_page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := strings.Fields(document.Text(t, document.Clients, "controller-runtime and client-go", 1))
	if !strings.Contains(strings.Join(strings.Fields(string(source)), " "), strings.Join(code, " ")) {
		t.Errorf("this file does not contain the code of docs/clients.md: %s", strings.Join(code, " "))
	}
	s := suite.NewFixture(t, suite.Cluster(t))
	for i := range 100 {
		s.Put(t, suite.ConfigMaps, fmt.Sprint("o", i), "", "1")
	}
	clients := suite.NewClients(t, suite.StartFacade(t, suite.Cluster(t), servesShards).Config).Typed

	const shard = "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000')"
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.ShardSelector = shard }))

	informer := factory.Core().V1().ConfigMaps().Informer()
	suite.RunInformer(t, informer)
	want := firstShard(t, s)
	testkit.Eventually(t, "the informer has the objects of its shard", func() error {
		got := suite.Held(t, informer)
		maps.DeleteFunc(got, func(key, _ string) bool { return !strings.HasPrefix(key, s.Namespace+"/") })
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-selected +informer)\n%s", diff)
		}
		return nil
	})
}

// firstShard returns the objects that apimachinery selects for the first of four shards, from the upstream's list.
func firstShard(t *testing.T, s *suite.Fixture) map[string]string {
	t.Helper()
	list, err := suite.NewClients(t, s.Config).Typed.CoreV1().ConfigMaps(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selected, selector := map[string]string{}, uidShard(0, 4)
	for _, o := range list.Items {
		matches, err := selector.Matches(&o)
		if err != nil {
			t.Fatal(err)
		}
		if matches {
			selected[o.Namespace+"/"+o.Name] = o.ResourceVersion
		}
	}
	if len(selected) == 0 || len(selected) == len(list.Items) {
		t.Fatalf("the shard has %d of %d objects", len(selected), len(list.Items))
	}
	return selected
}
