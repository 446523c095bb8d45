package identities

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A facade verifies the tokens of pods by its lane of pods in each encoding, or by a watch if pods have no lane. A
// token ends with its pod.
func TestTokensOfPodsAreVerified(t *testing.T) {
	cluster := suite.Cluster(t)
	admin, err := cluster.Config("admin")
	must(t, err)
	for name, change := range map[string]func(*facade.Config){
		"without a lane": func(c *facade.Config) { c.Uncached = append(c.Uncached, "pods") },
		"by JSON":        func(c *facade.Config) { c.Preload = []string{"pods"} },
		"by protobuf": func(c *facade.Config) {
			c.Preload, c.PreloadEncodings = []string{"pods"}, []string{"protobuf"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := suite.StartDelegating(t, cluster, change,
				func(c *facade.Config) { c.Authentication.ServiceAccountTokens = facade.LocalTokens })
			verified := func(t *testing.T) int {
				_, metrics := ask(t, f.ConfigOf(admin), http.MethodGet, "/metrics", "", nil)
				return sample(t, metrics, `listfacade_accepted_tokens_total{by="verification"} `)
			}
			r := &tokenRig{Fixture: suite.NewFixture(t, cluster), cluster: cluster}
			r.token(t, "robot", testkit.TokenOptions{}) // which creates the account
			asks := func(pod string) int {
				code, _ := ask(t, f.ConfigOf(cluster.ConfigWithToken(r.token(t, "robot", testkit.TokenOptions{Pod: pod}))),
					http.MethodGet, "/version", "", nil)
				return code
			}
			r.pod(t, "bound")
			testkit.Eventually(t, "a token is verified", func() error {
				before := verified(t)
				if code := asks("bound"); code != http.StatusOK {
					return fmt.Errorf("got %d, want 200", code)
				}
				if verified(t) == before {
					return errors.New("the token was reviewed")
				}
				return nil
			})
			token := r.token(t, "robot", testkit.TokenOptions{Pod: "bound"})
			r.Remove(t, suite.Pods, "bound")
			testkit.Eventually(t, "the token has ended", func() error {
				if code, _ := ask(t, f.ConfigOf(cluster.ConfigWithToken(token)), http.MethodGet, "/version", "", nil); code != http.StatusUnauthorized {
					return fmt.Errorf("got %d, want 401", code)
				}
				return nil
			})
		})
	}
}

// sample returns the value of a series in metrics, 0 if there is none.
func sample(t *testing.T, metrics, series string) (value int) {
	t.Helper()
	_, rest, ok := strings.Cut(metrics, "\n"+series)
	if !ok {
		return 0
	}
	if _, err := fmt.Sscan(rest, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
