package revocation

import (
	"net/http"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kinds are the kinds of watch that kube-apiserver does not end when credentials end.
var kinds = map[string]way{"cached": ways["JSON"], "forwarded": ways["forwarded"]}

// The watch also ends when a service account of the same name is created immediately after the deletion.
func TestWatchEndsWhenServiceAccountIsDeleted(t *testing.T) {
	run := suite.StartDelegating(t, suite.Cluster(t), onlyNotified)
	for name, w := range kinds {
		for _, again := range []string{"", " and created again"} {
			t.Run(name+", deleted"+again, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, suite.Cluster(t))
				p.addRole(t)
				p.bind(t, "Role", reader, p.anAccount("robot"))
				x := p.watch(t, p.askers(t, run, p.bearer(t, "robot", testkit.TokenOptions{})), w)
				p.Remove(t, suite.Accounts, "robot")
				if again != "" {
					p.bearer(t, "robot", testkit.TokenOptions{}) // which creates the account
				}
				x.leaves(t)
				testkit.Eventually(t, "the token is rejected", func() error { return wants(x.again(t), http.StatusUnauthorized) })
			})
		}
	}
}

// The facade caches pods here, so the watch of a token that is bound to a pod ends when the pod is deleted. That also
// applies to tokens that the facade reviews.
func TestWatchEndsWhenBoundPodIsDeleted(t *testing.T) {
	start := func(tokens func(*facade.Config)) *suite.Facade {
		return suite.StartDelegating(t, suite.Cluster(t), onlyNotified, tokens, func(c *facade.Config) { c.Preload = []string{"pods"} })
	}
	verifying, reviewing := start(func(*facade.Config) {}), start(suite.ReviewedTokens)
	for name, c := range map[string]struct {
		run *suite.Facade
		w   way
	}{
		"cached": {verifying, kinds["cached"]}, "forwarded": {verifying, kinds["forwarded"]}, "cached, reviewed": {reviewing, kinds["cached"]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, suite.Cluster(t))
			p.addRole(t)
			p.bind(t, "Role", reader, p.anAccount("robot"))
			p.bearer(t, "robot", testkit.TokenOptions{}) // which creates the account
			p.Create(t, suite.Pods, map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "bound"},
				"spec": map[string]any{"serviceAccountName": "robot", "containers": []any{map[string]any{"name": "c", "image": "none"}}},
			})
			x := p.watch(t, p.askers(t, c.run, p.bearer(t, "robot", testkit.TokenOptions{Pod: "bound"})), c.w)
			other := p.watch(t, p.askers(t, c.run, p.bearer(t, "robot", testkit.TokenOptions{})), c.w)
			p.Remove(t, suite.Pods, "bound")
			x.leaves(t)
			other.tells(t, "still")
		})
	}
}

// A watch ends when its token or client certificate expires.
func TestWatchEndsWhenCredentialExpires(t *testing.T) {
	const life = 30 * time.Second // many times what it takes to open a watch, also on a busy machine
	run := suite.StartDelegating(t, suite.Cluster(t), onlyNotified)
	for name, w := range kinds {
		t.Run("a token, "+name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, suite.Cluster(t))
			p.addRole(t)
			p.bind(t, "Role", reader, p.anAccount("robot"))
			robot := p.bearer(t, "robot", testkit.TokenOptions{})
			end := time.Now().Add(life).Truncate(time.Second)
			// kube-apiserver itself issues no token that expires so soon.
			robot.BearerToken = p.cluster.Resign(t, robot.BearerToken, func(_, claims map[string]any) { claims["exp"] = end.Unix() })
			p.watch(t, p.askers(t, run, robot), w).expires(t, end)
		})
	}
	t.Run("a certificate", func(t *testing.T) {
		t.Parallel()
		p, who := newPlace(t, suite.Cluster(t)), newUser()
		p.addRole(t)
		p.bind(t, "Role", reader, aUser(who))
		end := time.Now().Add(life).Truncate(time.Second)
		pair := p.cluster.Authority(t, testkit.ClientCA).Certify(t, testkit.Certificate{User: who, Until: end})
		x := p.watch(t, p.askers(t, run, p.cluster.ConfigWith(pair)), ways["JSON"])
		x.expires(t, end)
		testkit.Eventually(t, "the certificate is rejected", func() error { return wants(x.again(t), http.StatusUnauthorized) })
	})
}

// leaves waits for the end of a watch whose service account is deleted. Changes between the two may still be sent,
// because the facade checks once a second.
func (x *watched) leaves(t *testing.T) {
	t.Helper()
	rec := x.Ended(t)
	x.over(t, rec, x.place.put(t, x.way.gvr, "seen", secret))
}

// expires waits for the end of a watch whose credential expires at that time. kube-apiserver accepts a token for one
// more minute, in case clocks differ.
func (x *watched) expires(t *testing.T, at time.Time) {
	t.Helper()
	x.tells(t, "2")
	rec := x.Ended(t)
	if early := time.Until(at); early > 0 {
		t.Errorf("the watch ended %s before its credential", early)
	}
	x.over(t, rec, x.place.put(t, x.way.gvr, "seen", secret))
}
