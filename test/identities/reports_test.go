package identities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/top"
)

// reportOf requests a report of the facade and decodes it from JSON.
func reportOf(t *testing.T, asker *testkit.Asker, path string, into any) error {
	t.Helper()
	answer := asker.MustAsk(t, testkit.Question{Path: path})
	if answer.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, answer.Code, answer.Body)
	}
	return json.Unmarshal(answer.Body, into)
}

// TestReports checks that an authorized caller sees the current clients, in the facade's reports and in its command
// "top". All other callers are refused as kube-apiserver would refuse them.
func TestReports(t *testing.T) {
	cluster := suite.Cluster(t)
	f := suite.StartDelegating(t, cluster)
	own := suite.NewFixture(t, cluster)
	who, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	admin := f.As(t, who).Facade
	config := f.ConfigOf(who)
	config.UserAgent = "reader-of-all"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(suite.ConfigMaps).Namespace(own.Namespace)
	own.Put(t, suite.ConfigMaps, "listed", "", "x")
	for range 5 {
		if _, err := objects.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := objects.Watch(t.Context(), metav1.ListOptions{LabelSelector: "app in (a,b)"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for i := range 3 {
		own.Put(t, suite.ConfigMaps, fmt.Sprint("o", i), "app=a", "x")
		<-watch.ResultChan()
	}
	testkit.Eventually(t, "the events of an open watch are counted", func() error {
		var ranking accounting.Ranking
		if err := reportOf(t, admin, "/debug/clients?by=events&output=json", &ranking); err != nil {
			return err
		}
		for _, c := range ranking.Clients {
			if c.UserAgent == "reader-of-all" && c.Verb == "watch" && c.Estimate == 3 && c.Error == 0 && c.Resource == "configmaps" &&
				c.Selector == "label app in" && c.Scope == "namespace" && c.User != "" && c.Source == "cache" {
				return nil
			}
		}
		return fmt.Errorf("%+v", ranking)
	})
	testkit.Eventually(t, "the watch is listed, without a lag", func() error {
		var open observe.OpenList
		if err := reportOf(t, admin, "/debug/watches?output=json", &open); err != nil || open.Total != 1 || open.Items[0].Namespace != own.Namespace ||
			open.Items[0].LabelSelector != "app in (a,b)" || open.Items[0].At == 0 || open.Items[0].LagEvents != 0 {
			return fmt.Errorf("%w %+v", err, open)
		}
		return nil
	})
	var table bytes.Buffer
	o := top.Options{By: "objects", Window: 5 * time.Minute, Limit: 10, Interval: time.Second, Once: true}
	if err := top.Run(t.Context(), f.ConfigOf(who), o, &table); err != nil || !strings.Contains(table.String(), "reader-of-all") {
		t.Errorf("%v\n%s", err, &table)
	}
	alice, err := cluster.Config("alice")
	if err != nil {
		t.Fatal(err)
	}
	refused := f.As(t, alice)
	for _, path := range []string{"/debug/clients?by=nonsense", "/debug/requests", "/debug/watches"} {
		if got := refused.Compare(t, testkit.Question{Path: path}); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	if err := top.Run(t.Context(), f.ConfigOf(alice), o, &table); err == nil || !strings.Contains(err.Error(), "cannot get path") {
		t.Errorf("top as alice: got %v, want a refusal", err)
	}
}
