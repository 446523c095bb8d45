package deploy

import (
	"crypto/tls"
	"fmt"
	"testing"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	rolloutConnections = 10 // of the watches
	// lateConnections is the number of connections before a Service removes a terminating pod.
	lateConnections = 30
)

// unverified returns a configuration that accepts any certificate, because each pod of the base has its own.
func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test's own servers
}

// The test replaces the pods of the chart and of each kustomization one after the other, like a Deployment, behind a
// Service that removes terminating pods late. With 200 watches no read fails, and no client lists again. A short run
// has fewer watches for kustomizations, because their pods end in the same way. The chart has the pods of
// overlays/authority.
func TestRolloutKeepsClients(t *testing.T) {
	cluster := deployed(t)
	config := readerToken(t, cluster)
	t.Run("chart", func(t *testing.T) { rolloutOf(t, cluster, render(t, "preload: [configmaps]"), config, 200) })
	for _, name := range kustomizations {
		if name == "overlays/authority" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rolloutOf(t, cluster, build(t, cluster, name), config, settings.Amount(20, 200), "--preload=configmaps")
		})
	}
}

// rolloutOf replaces the pods of a Deployment. Further flags follow those of the container.
func rolloutOf(t *testing.T, cluster *testkit.Cluster, m manifests, config *rest.Config, watches int, flags ...string) {
	t.Helper()
	kubeconfig := testkit.WriteKubeconfig(t, cluster.ConfigWithToken(cluster.Token(t, namespace, account, testkit.TokenOptions{})))
	flags = append(flags, "--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0")
	rollout(t, suite.NewFixture(t, cluster), func() *pod { return podOf(t, m, flags...).start(t) }, config, watches)
}

func rollout(t *testing.T, s *suite.Fixture, start func() *pod, config *rest.Config, watches int) {
	t.Helper()
	front := startService(t)
	pods := []*pod{start(), start()}
	for _, p := range pods {
		p.readiness(t, true)
		front.add(p)
	}
	s.Put(t, suite.ConfigMaps, "first", "", "1")
	clients := &rolloutClients{url: "https://" + front.address + suite.Collection(suite.ConfigMaps, s.Namespace)}
	informers := clients.watch(t, s, throughService(front, config), watches)
	begun, _ := clients.sum()
	stop := clients.read(t, config.BearerToken)
	for round, old := range pods[:settings.Amount(1, len(pods))] {
		next := start()
		next.readiness(t, true)
		front.add(next)
		// Every client must have a version that the next pod has watched, because the pod does not know older
		// ones.
		s.Put(t, suite.ConfigMaps, "changed", "", fmt.Sprint("before", round))
		converge(t, s, informers)
		old.terminate(t)
		clients.awaitConnections(t, lateConnections)
		old.readiness(t, false)
		front.remove(old)
		s.Put(t, suite.ConfigMaps, "changed", "", fmt.Sprint("meanwhile", round))
		<-old.ended
		if old.err != nil {
			t.Errorf("a pod ended: %v", old.err)
		}
		s.Put(t, suite.ConfigMaps, "changed", "", fmt.Sprint("after", round))
		converge(t, s, informers)
	}
	stop()
	lists, failures := clients.sum()
	if len(failures) > 0 {
		t.Errorf("%d reads failed, the first: %v", len(failures), failures[0])
	}
	if begun != watches || lists != begun {
		t.Errorf("got %d lists at the beginning and %d in the rollout, want %d and 0", begun, lists-begun, watches)
	}
}

func converge(t *testing.T, s *suite.Fixture, informers []toolscache.SharedIndexInformer) {
	t.Helper()
	for _, informer := range informers {
		s.Converges(t, suite.ConfigMaps, informer)
	}
}

// throughService returns a configuration that connects to a Service.
func throughService(front *service, config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host, config.TLSClientConfig, config.QPS = "https://"+front.address, rest.TLSClientConfig{Insecure: true}, -1
	return config
}
