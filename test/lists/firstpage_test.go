package lists

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// firstPages is a large list whose first page is read while leases change. No client reads leases from the facade.
type firstPages struct {
	oracle    *testkit.Oracle
	client    kubernetes.Interface
	namespace string
	lease     *coordinationv1.Lease
	first     *corev1.ConfigMap // of the list
	writes    int
}

// The facade serves the first page of a consistent list, as `kubectl get` requests it, from the cache, although another
// resource has just changed. After the first request it keeps its lanes' versions up to date.
func TestFirstPageIsCachedWhileOthersWrite(t *testing.T) {
	f := newFirstPages(t)
	inARow := settings.Amount(5, 10)
	testkit.Eventually(t, fmt.Sprint(inARow, " first pages in a row from the cache"), func() error {
		for i := range inARow {
			if f.forwarded(t) {
				return fmt.Errorf("forwarded after %d in a row from the cache", i)
			}
		}
		return nil
	})
	f.oracle.Compare(t, testkit.Question{Path: f.path()})
}

func newFirstPages(t *testing.T) *firstPages {
	t.Helper()
	const objects = 1200 // to call them over would cost more than the page
	config, err := suite.Cluster(t).Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	f := &firstPages{oracle: newOracle(t), client: kubernetes.NewForConfigOrDie(config), namespace: "first-page"}
	if _, err := f.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var made errgroup.Group
	made.SetLimit(8)
	for i := range objects {
		made.Go(func() error { return f.create(t, i) })
	}
	if err := made.Wait(); err != nil {
		t.Fatal(err)
	}
	if f.first, err = f.client.CoreV1().ConfigMaps(f.namespace).Get(t.Context(), nameAt(0), metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	authorization := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "held"}}
	if f.lease, err = f.client.CoordinationV1().Leases(f.namespace).Create(t.Context(), authorization, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func nameAt(i int) string { return fmt.Sprintf("a-%04d", i) }

func (f *firstPages) create(t *testing.T, i int) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: nameAt(i)}, Data: map[string]string{"text": strings.Repeat("much ", 80)}}
	_, err := f.client.CoreV1().ConfigMaps(f.namespace).Create(t.Context(), cm, metav1.CreateOptions{})
	return err
}

func (f *firstPages) path() string {
	return "/api/v1/namespaces/" + f.namespace + "/configmaps?limit=500"
}

// forwarded writes the list's first object and then a lease, and reads the first page, which must contain that write.
// It reports whether the read was forwarded.
func (f *firstPages) forwarded(t *testing.T) bool {
	t.Helper()
	var err error
	f.writes++
	f.first.Data["write"] = fmt.Sprint(f.writes)
	if f.first, err = f.client.CoreV1().ConfigMaps(f.namespace).Update(t.Context(), f.first, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	if f.lease, err = f.client.CoordinationV1().Leases(f.namespace).Update(t.Context(), f.lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := f.oracle.Answered(t, "upstream")
	answer := f.oracle.Facade.MustAsk(t, testkit.Question{Path: f.path()})
	var list corev1.ConfigMapList
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		t.Fatalf("%s: %v", answer.Body, err)
	}
	if len(list.Items) != 500 || list.Continue == "" {
		t.Fatalf("got a page of %d objects with the continue token %q", len(list.Items), list.Continue)
	}
	if at := list.Items[0]; at.Name == f.first.Name && at.Data["write"] != fmt.Sprint(f.writes) {
		t.Fatalf("write %d is missing in a later list: %v", f.writes, at.Data["write"])
	}
	return f.oracle.Answered(t, "upstream") != before
}
