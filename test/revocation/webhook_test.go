package revocation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A webhook authorizer does not announce changes, so the facade repeats its reviews.
func TestWatchEndsWhenWebhookDenies(t *testing.T) {
	t.Parallel() // this test has its own cluster
	const every = 2 * time.Second
	who := newUser()
	var denies atomic.Bool
	var asked atomic.Int64 // about that user
	webhook := suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if review.Spec.User == who {
			asked.Add(1)
		}
		review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: review.Spec.User == who && !denies.Load()}
		_ = json.NewEncoder(w).Encode(review)
	}))
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiserver-arg=--authorization-mode=Node,RBAC,Webhook",
		"--apiserver-arg=--authorization-webhook-config-file="+webhook, "--apiserver-arg=--authorization-webhook-version=v1",
		"--apiserver-arg=--authorization-webhook-cache-authorized-ttl=0s", "--apiserver-arg=--authorization-webhook-cache-unauthorized-ttl=0s")
	must(t, err)
	t.Cleanup(own.Close)
	run := suite.StartDelegating(t, own, func(c *facade.Config) {
		c.Authorization.WatchReauthorize, c.Authorization.AllowedTTL, c.Authorization.DeniedTTL = every, time.Second, time.Second
	})
	p := newPlace(t, own)
	o := p.askers(t, run, own.ConfigOf(t, who))
	for _, name := range []string{"JSON", "protobuf", "a streaming list"} {
		denies.Store(false)
		x := p.watch(t, o, ways[name])
		before := asked.Load()
		testkit.Eventually(t, "the webhook confirms the right twice", func() error {
			if n := asked.Load() - before; n < 2 {
				return fmt.Errorf("got %d reviews, want at least 2", n)
			}
			return nil
		})
		x.tells(t, "still")
		denies.Store(true)
		rec := x.Ended(t)
		x.over(t, rec, p.put(t, x.way.gvr, "seen", secret))
		x.refused(t, http.StatusForbidden)
	}
}
