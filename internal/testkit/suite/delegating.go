package suite

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// StartDelegating starts a facade until the test ends. The cluster authenticates and authorizes the facade's callers.
// The facade acts as a user with only the rights in devcluster/manifests/users.yaml. Rates are unlimited, because
// suites send more requests per second than any client.
func StartDelegating(t testing.TB, upstream *testkit.Cluster, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	f := LaunchDelegating(t, upstream.Kubeconfigs[facadeUser], settings...)
	f.AwaitReady(t)
	return f
}

// LaunchDelegating is StartDelegating that does not wait until the facade is ready.
func LaunchDelegating(t testing.TB, kubeconfig string, settings ...func(*facade.Config)) *Facade {
	t.Helper()
	return LaunchFacade(t, kubeconfig, append([]func(*facade.Config){delegates}, settings...)...)
}

func delegates(c *facade.Config) {
	c.Authentication.AnonymousActsAsKubeconfig = false
	c.Authorization.Extras = settings.Extras()
	const enough = 1 << 20
	c.Authentication.FailureRate, c.Authorization.MissRate = enough, enough
	c.Limits.WatchRate, c.Limits.WatchRatePerUser = enough, enough
}

// ConfigOf returns a client configuration for the facade with the given credentials.
func (f *Facade) ConfigOf(who *rest.Config) *rest.Config {
	config := rest.CopyConfig(who)
	config.Host, config.CAFile, config.CAData = f.URL, f.Config.CAFile, nil
	return config
}

// As returns an oracle of a cluster and its facade, both with the given credentials.
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
