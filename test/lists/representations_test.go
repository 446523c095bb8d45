package lists

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Two namespaces of objects that fill pages, so that lists begin and end within some.
var formNamespaces = map[string]int{"forms-a": 150, "forms-b": 230}

// Lists are assembled from precompressed pages while objects change: with memory for all pages, and with hardly any.
func TestListsInEveryRepresentation(t *testing.T) {
	config, err := suite.Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	fillForms(t, client)
	awaitDeletions(t, client)
	for name, c := range map[string]struct {
		budget int64
		rounds int
		counts string // what must have happened
	}{
		"ample": {64 << 20, settings.Amount(1, 2), "listfacade_precompressed_pages_found_total"}, "evicting": {40 << 10, 1, "listfacade_precompressed_pages_evicted_total"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "evicting" {
				settings.Long(t)
			}
			o := newOracle(t, func(f *facade.Config) { f.PrecompressedMemory, f.HistoryBytes = c.budget, 1 })
			for round := range c.rounds {
				touchForms(t, client, fmt.Sprint(name, round))
				compareForms(t, o)
			}
			if text := string(o.Facade.MustAsk(t, testkit.Question{Path: "/metrics"}).Body); !strings.Contains(text, c.counts+" ") || strings.Contains(text, c.counts+" 0\n") {
				t.Errorf("no precompressed page was used: %s is 0", c.counts)
			}
		})
	}
}

// awaitDeletions waits until the namespaces of earlier tests are gone. Until then their objects disappear one by one,
// and two streams that begin at different times differ.
func awaitDeletions(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	testkit.Eventually(t, "namespaces are deleted", func() error {
		all, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, namespace := range all.Items {
			if namespace.DeletionTimestamp != nil {
				return fmt.Errorf("%s is being deleted", namespace.Name)
			}
		}
		return nil
	})
}

// fillForms creates the objects, which are deleted with the cluster.
func fillForms(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	words, random := []string{"list", "watch", "bookmark", "page", "lane", "epoch"}, rand.New(rand.NewPCG(1, 2))
	for namespace, count := range formNamespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range count {
			var text strings.Builder
			for range 300 {
				text.WriteString(words[random.IntN(len(words))])
			}
			cm := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("form-%03d", i), Labels: map[string]string{"third": fmt.Sprint(i % 3), "half": fmt.Sprint(2 * i / count)}},
				Data:       map[string]string{"text": text.String()},
			}
			if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// touchForms changes an object in the middle and one at an end, and removes and adds one.
func touchForms(t *testing.T, client kubernetes.Interface, word string) {
	t.Helper()
	for namespace := range formNamespaces {
		maps := client.CoreV1().ConfigMaps(namespace)
		for _, name := range []string{"form-000", "form-077"} {
			cm, err := maps.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			cm.Data["word"] = word
			if _, err := maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		cm, err := maps.Get(t.Context(), "form-120", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), cm.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		cm.ResourceVersion, cm.UID = "", ""
		if _, err := maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// compareForms requests every representation repeatedly, completely and in parts: when it is encoded, and from memory.
func compareForms(t *testing.T, o *testkit.Oracle) {
	t.Helper()
	const list = ";g=meta.k8s.io;v=v1"
	for i, accept := range []string{
		suite.AcceptJSON, protobuf, suite.AcceptTable, "application/json;as=PartialObjectMetadataList" + list,
		protobuf + ";as=PartialObjectMetadataList" + list, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
	} {
		for j, path := range []string{
			"/api/v1/configmaps", "/api/v1/namespaces/forms-a/configmaps", "/api/v1/namespaces/forms-b/configmaps?limit=100",
			"/api/v1/configmaps?limit=170", "/api/v1/namespaces/forms-b/configmaps?labelSelector=half%3D1", "/api/v1/configmaps?labelSelector=third%3D1",
			"/api/v1/namespaces/forms-a/configmaps?includeObject=Object&resourceVersion=0",
		} {
			if testing.Short() && (i+j)%2 == 1 {
				continue // each path is asked for in half of the forms then
			}
			header := http.Header{"Accept": {accept}, "Accept-Encoding": {"gzip"}}
			for range settings.Amount(2, 3) { // a selector is remembered from the second time on
				o.Compare(t, testkit.Question{Path: path, Header: header})
			}
		}
	}
	// Tables are excluded, because ages may change between two streams.
	for _, accept := range []string{suite.AcceptJSON, protobuf, suite.AcceptPartial} {
		for _, path := range []string{"/api/v1/configmaps", "/api/v1/namespaces/forms-b/configmaps"} {
			for range 2 {
				compareInitialEvents(t, o, path, accept)
			}
		}
	}
}

// compareInitialEvents compares a streaming list up to its end.
func compareInitialEvents(t *testing.T, o *testkit.Oracle, path, accept string) {
	t.Helper()
	const streaming = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=60"
	q := testkit.Question{Path: path + streaming, Header: http.Header{"Accept": {accept}, "Accept-Encoding": {"gzip"}}}
	pair := suite.WatchBoth(t, o, q)
	want := pair.Upstream.Until(t, "the upstream has told everything", suite.Begun)
	got := pair.Facade.Until(t, "the facade has told everything", suite.Begun)
	// A periodic bookmark may immediately follow the end.
	if diff := testkit.DiffRecordings(want.Through(math.MaxUint64), got.Through(math.MaxUint64)); diff != "" {
		t.Errorf("%s\n%s", q, diff)
	}
	pair.Upstream.Close()
	pair.Facade.Close()
}
