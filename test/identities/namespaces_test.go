package identities

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A client lists many namespaces, four at a time, and needs a review for each. Its requests above --authz-miss-rate
// wait for their reviews, and none is refused. The rate is a fifth of the default, so that the client exceeds its burst
// on a busy machine, too.
func TestListsOfManyNamespacesAreNotRefused(t *testing.T) {
	const atOnce, rate = 4, 10
	namespaces := int64(settings.Amount(100, 250))
	w := newWorld(t)
	way := newRoad(t, w)
	f := suite.LaunchDelegating(t, way.kubeconfig, func(c *facade.Config) { c.Authorization.MissRate = rate })
	f.AwaitReady(t)
	o := w.as(t, f, "reader")
	get(t, o, http.StatusOK, inFirstNamespace+"?resourceVersion=0") // the lane is synced
	way.since()
	var next atomic.Int64
	var clients sync.WaitGroup
	for range atOnce {
		clients.Go(func() {
			for i := next.Add(1); i <= namespaces; i = next.Add(1) {
				path := fmt.Sprintf("/api/v1/namespaces/many-%d/configmaps?resourceVersion=0", i)
				if err := lists(t, o.Facade, path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	if n := int64(len(reviewed(t, way.since(), "reader"))); n < namespaces {
		t.Errorf("got %d reviews, want one for each of %d namespaces", n, namespaces)
	}
}

// lists returns an error unless a list is answered with 200. It repeats a list whose review a busy machine did not
// answer in time.
func lists(t *testing.T, asker *testkit.Asker, path string) error {
	t.Helper()
	for {
		answer, err := asker.Ask(t.Context(), testkit.Question{Path: path})
		if err == nil && answer.Code == http.StatusServiceUnavailable {
			continue
		}
		if err == nil && answer.Code != http.StatusOK {
			err = fmt.Errorf("%s: got %d %s, want 200", path, answer.Code, head(answer.Body))
		}
		return err
	}
}
