package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A client that does not read is cut off, and delays no other client (I8).
func TestSlowClientIsCutOff(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	for name, newClient := range map[string]func(*suite.Facade, testing.TB) *http.Client{
		"HTTP/1.1": (*suite.Facade).HTTP1Client, "HTTP/2": (*suite.Facade).HTTP2Client,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := suite.NewFixture(t, suite.Cluster(t))
			run := suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) { c.WriteTimeout = 5 * time.Second })
			path := suite.Collection(suite.ConfigMaps, s.Namespace)
			quick := s.Oracle(t, run).Facade.MustRecord(t, testkit.Question{Path: path + "?watch=1&resourceVersion=0"})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, run.URL+path+"?watch=1&resourceVersion=0", nil)
			if err != nil {
				t.Fatal(err)
			}
			slow, err := newClient(run, t).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer slow.Body.Close()                                       // the body is never read
			testkit.Eventually(t, "both watches are open", func() error { // the headers of a response come first
				if open := run.Watchers("configmaps"); open != 2 {
					return fmt.Errorf("%d are", open)
				}
				return nil
			})
			cutOff := func() bool { return run.Watchers("configmaps") == 1 }
			big := strings.Repeat("x", 500<<10)
			for i := 0; i < 100 && !cutOff(); i++ { // 50 MB are more than all buffers between the two hold
				rv := s.Put(t, suite.ConfigMaps, "big", "", fmt.Sprint(i, big))
				quick.Until(t, "the quick client gets the event", func(r *testkit.Recording) bool { return r.Reached() >= rv })
			}
			testkit.Eventually(t, "the slow client is cut off", func() error {
				if !cutOff() {
					return fmt.Errorf("%d watches are open", run.Watchers("configmaps"))
				}
				return nil
			})
			select {
			case <-quick.Done():
				t.Error("the quick client was cut off too")
			default:
			}
		})
	}
}

// The facade stops the lane of a resource that no client reads. It keeps a lane that has a watch.
func TestIdleLanesAreRemoved(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	run := suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) { c.LaneIdle = time.Second })
	client := suite.NewClients(t, run.Config).Dynamic
	if _, err := client.Resource(suite.Pods).Namespace(s.Namespace).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Fatal(err)
	}
	watch := s.Oracle(t, run).Facade.MustRecord(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace) + "?watch=1&resourceVersion=0"})
	testkit.Eventually(t, "the lane of pods is stopped and that of config maps is not", func() error {
		var names []string
		for _, lane := range run.Lanes() {
			names = append(names, lane.Resource)
		}
		if got := strings.Join(names, " "); got != "configmaps" {
			return fmt.Errorf("lanes: %s", got)
		}
		return nil
	})
	rv := s.Put(t, suite.ConfigMaps, "a", "", "1")
	watch.Until(t, "the event", func(r *testkit.Recording) bool { return r.Reached() >= rv })
	if _, err := client.Resource(suite.Pods).Namespace(s.Namespace).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Errorf("a stopped lane does not start again: %v", err)
	}
}
