package suite

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
)

// StartDelegating serves the cluster until the test ends, with further settings, to callers who say who they are: the
// facade has them proven and authorized by the cluster. It acts as a user with the rights of
// devcluster/manifests/users.yaml and no others. Suites ask more in a second than any client does, so rates are without
// bounds.
func StartDelegating(t testing.TB, upstream *testkit.Cluster, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := LaunchDelegating(t, upstream.Kubeconfigs[facadeUser], settings...)
	f.AwaitReady(t)
	return f
}

// LaunchDelegating is StartDelegating for an upstream that may be in no state to get ready with.
func LaunchDelegating(t testing.TB, kubeconfig string, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	return LaunchFacade(t, kubeconfig, append([]func(*facade.Config){delegates}, settings...)...)
}

func delegates(c *facade.Config) {
	c.Authentication.AnonymousActsAsKubeconfig = false
	const enough = 1 << 20
	c.Authentication.FailureRate, c.Authorization.MissRate = enough, enough
	c.Limits.WatchRate, c.Limits.WatchRatePerUser = enough, enough
}

// ConfigOf is the client configuration by which whoever has credentials for the cluster asks the facade.
func (f *Facade) ConfigOf(who *rest.Config) *rest.Config {
	config := rest.CopyConfig(who)
	config.Host, config.CAFile, config.CAData = f.URL, f.Config.CAFile, nil
	return config
}

// As compares a cluster with its facade, both asked by whoever has credentials for the cluster.
func (f *Facade) As(t testing.TB, who *rest.Config) *testkit.Oracle {
	t.Helper()
	oracle := &testkit.Oracle{}
	for asker, config := range map[**testkit.Asker]*rest.Config{&oracle.Upstream: who, &oracle.Facade: f.ConfigOf(who)} {
		made, err := testkit.NewAsker(config)
		if err != nil {
			t.Fatal(err)
		}
		*asker = made
	}
	return oracle
}
