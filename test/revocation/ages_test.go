package revocation

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A watch ends at --watch-max-age, however large its timeoutSeconds.
func TestWatchEndsAtMaxAge(t *testing.T) {
	const age = 4 * time.Second
	short := suite.StartDelegating(t, suite.Cluster(t), func(c *facade.Config) { c.Authorization.WatchMaxAge = age })
	long := suite.StartDelegating(t, suite.Cluster(t), onlyNotified) // here a watch ends only by its timeoutSeconds
	for name, w := range map[string]way{
		"cached": ways["JSON"], "over a websocket": ways["a websocket"], "forwarded": ways["forwarded"],
	} {
		for seconds, life := range map[string]time.Duration{
			"": age, "9223372036": age, "9223372036854775807": age, "-1": 0, "1": time.Second,
		} {
			if len(seconds) > len("9223372036") && w.gvr == secrets {
				continue // kube-apiserver's own sum overflows
			}
			t.Run(fmt.Sprintf("%s, %q", name, seconds), func(t *testing.T) {
				t.Parallel()
				run := short
				if life < age {
					run = long
				}
				p := newPlace(t, suite.Cluster(t))
				p.addRole(t)
				p.bind(t, "Role", reader, p.anAccount("robot"))
				robot := p.bearer(t, "robot", testkit.TokenOptions{})
				w := w.with(robot.BearerToken)
				o := p.askers(t, run, robot)
				testkit.Eventually(t, "kube-apiserver knows the right", func() error {
					return wants(o.Facade.MustAsk(t, testkit.Question{Path: suite.Collection(w.gvr, p.Namespace)}).Code, http.StatusOK)
				})
				if seconds != "" {
					w.query += "&timeoutSeconds=" + seconds
				}
				began := time.Now()
				rec := o.Facade.MustRecord(t, p.question(w)).Ended(t)
				took := time.Since(began)
				if life == 0 && w.gvr != secrets { // the end is kube-apiserver's
					want := o.Upstream.MustRecord(t, p.question(w)).Ended(t)
					// kube-apiserver sends an ERROR event before the end, by chance
					// (docs/divergences.md).
					if diff := testkit.DiffBegun(want, rec) + testkit.DiffEnds(want, rec); diff != "" && len(want.Frames) == 0 {
						t.Error(diff)
					}
				} else if rec.Err != nil || rec.Code != http.StatusOK && rec.Code != http.StatusSwitchingProtocols {
					t.Errorf("%d, %v", rec.Code, rec.Err)
				}
				if took < life*8/10 {
					t.Errorf("the watch ended after %s, want about %s", took, life)
				}
			})
		}
	}
}

func wants(code, want int) error {
	if code != want {
		return fmt.Errorf("got %d, want %d", code, want)
	}
	return nil
}
