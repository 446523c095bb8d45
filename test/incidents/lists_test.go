package incidents

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// manyPods is so many pods that a list of all of them each second exceeds an alert's threshold.
const manyPods = 1800

// TestListsEachSecond: a client of two replicas lists all pods each second.
func TestListsEachSecond(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	cluster := suite.Cluster(t)
	f := suite.NewFixture(t, cluster)
	makePods(t, f, manyPods)
	run := suite.StartDelegating(t, cluster, suite.Unpacked, func(c *facade.Config) { c.Slow.Request = time.Millisecond })
	admin := adminOf(t)
	greedy := run.ConfigOf(cluster.ConfigWithToken(cluster.Token(t, f.Namespace, "inventory", tokenOptions)))
	allow(t, f.Namespace, "inventory", "pods")
	o, m := operatorOf(run, admin), watch(t, admin, run)

	var pods [2]*reader // of the client's Deployment
	for i := range pods {
		pods[i] = startReader(t, greedy, "/api/v1/pods", "inventory/v2", time.Second)
		pods[i].gets(t, http.StatusOK)
	}
	m.passes(t, 17)
	m.fires(`ListfacadeHeavyLists{pod="a",resource="pods"}`)
	user := "system:serviceaccount:" + f.Namespace + ":inventory"
	if first := o.clients(t, "objects").Clients[0]; first.User != user || first.UserAgent != "inventory/v2" || first.Verb != "list" || first.Resource != "pods" || first.Scope != "cluster" {
		t.Errorf("/debug/clients: %+v", first)
	}
	for _, by := range []string{"objects", "bytes"} {
		if line := o.topLine(t, by); !strings.Contains(line, user+" inventory/v2 list pods v1 cluster <none> MostRecent cache") {
			t.Errorf("top --by %s: %s", by, line)
		}
	}
	if first := o.page(t).Clients.Clients[0]; first.User != user || first.UserAgent != "inventory/v2" || first.Resource != "pods" {
		t.Errorf("the operator's page: %+v", first)
	}
	line := o.said(t, "Slow request", "userAgent", "inventory/v2")
	if line["user"] != user || line["resource"] != "pods" || line["scope"] != "cluster" || line["objectsReturned"].(int64) < manyPods {
		t.Errorf("the slow line: %v", line)
	}
	for _, r := range pods {
		r.stop()
	}
	m.passes(t, 8)
	m.fires()
	m.verify(t)
}

// makePods creates pods that no scheduler assigns.
func makePods(t *testing.T, f *suite.Fixture, count int) {
	t.Helper()
	var writers errgroup.Group
	writers.SetLimit(16)
	for i := range count {
		writers.Go(func() error {
			pod := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": fmt.Sprint("pod-", i)},
				"spec": map[string]any{"schedulerName": "none", "containers": []any{map[string]any{"name": "c", "image": "i"}}},
			}}
			_, err := f.In(suite.Pods).Create(t.Context(), pod, metav1.CreateOptions{})
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
}
