package lists

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Without a sign that a quiet resource's lane is fresh, the facade may forward the first page of a list. It serves
// further pages from the cache.
func TestPagesOfQuietResourceComeFromCache(t *testing.T) {
	o := newOracle(t)
	config, err := suite.Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	const namespace, page, walks = "walked", 250, 10
	objects := settings.Amount(750, 1500)
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var last string
	for i := range objects {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("step-%04d", i)}}
		made, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = made.ResourceVersion
	}
	path := "/api/v1/namespaces/" + namespace + "/configmaps"
	suite.Reach(t, o, path, suite.RVOf(t, last))

	// A progress watch takes about two seconds, and the facade waits four. A busy machine may need more than one
	// walk.
	for range walks {
		touchNamespace(t, client, namespace) // the upstream's version increases without an event for config maps
		asked, pages := walk(t, o, path, page, objects)
		if asked <= 1 {
			return
		}
		t.Logf("the upstream was asked for %d of %d pages, each asked for twice", asked, pages)
	}
	t.Errorf("the upstream received more than one page request in each of %d walks", walks)
}

// walk reads a list page by page, compares each page except the first with the upstream's, and returns the number of
// forwarded pages.
func walk(t *testing.T, o *testkit.Oracle, path string, page, objects int) (asked, pages int) {
	t.Helper()
	before := o.Answered(t, "upstream")
	names := 0
	for token := ""; pages == 0 || token != ""; pages++ {
		q := testkit.Question{Path: path + fmt.Sprintf("?limit=%d&continue=%s", page, url.QueryEscape(token))}
		answer := o.Facade.MustAsk(t, q)
		var list corev1.ConfigMapList
		if err := json.Unmarshal(answer.Body, &list); err != nil {
			t.Fatalf("%s: %v", answer.Body, err)
		}
		names, token = names+len(list.Items), list.Continue
		if token != "" {
			o.Compare(t, testkit.Question{Path: path + fmt.Sprintf("?limit=%d&continue=%s", page, url.QueryEscape(token))})
		}
	}
	if names < objects { // controllers may create further objects
		t.Errorf("got %d pages with %d objects, want %d objects", pages, names, objects)
	}
	return o.Answered(t, "upstream") - before, pages
}

// touchNamespace changes a namespace.
func touchNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ns.Annotations = map[string]string{"touched": time.Now().String()}
	if _, err := client.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
