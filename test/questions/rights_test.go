package questions

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A facade needs only the rights of devcluster/manifests/users.yaml. It caches the resources that it may read, and
// refuses others, such as Secrets, in the upstream's words.
func TestRights(t *testing.T) {
	cluster := suite.Furnished(t)
	run := suite.LaunchFacade(t, cluster.Kubeconfigs["reader"], cacheEverything)
	run.AwaitReady(t)
	oracle := suite.OracleOf(t, run)
	for _, resource := range fixturesOf(t) {
		path := suite.Collection(resource.GroupVersionResource, "")
		cached := func() bool {
			return slices.ContainsFunc(run.Lanes(), func(s metrics.LaneStats) bool {
				return s.Synced && s.Group == resource.Group && s.Version == resource.Version && s.Resource == resource.Resource
			})
		}
		if resource.Resource != "secrets" {
			if oracle.Compare(t, testkit.Question{Path: path + "?resourceVersion=0"}); !cached() {
				t.Errorf("%s is not cached", path)
			}
			continue
		}
		answer, err := oracle.Facade.Ask(t.Context(), testkit.Question{Path: path + "?resourceVersion=0"})
		if err != nil {
			t.Fatal(err)
		}
		const words = `secrets is forbidden: User \"reader\" cannot list resource \"secrets\" in API group \"\" at the cluster scope`
		if answer.Code != http.StatusForbidden || !strings.Contains(string(answer.Body), words) || cached() {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
}
