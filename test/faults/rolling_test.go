package faults

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Replicas are replaced one after the other, each with a warm start from the other one. Their clients resume at the
// remaining replica without a list.
func TestRollingRestart(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	s.Put(t, suite.ConfigMaps, "first", "", "1")
	var lists atomic.Int64
	replica := func(peer *suite.Facade) *suite.Facade {
		f := suite.NewFacade(t, suite.FacadeKubeconfig(t, suite.Cluster(t)), func(c *facade.Config) {
			c.Preload = []string{"configmaps"}
			if peer != nil {
				c.WarmFrom, c.WarmFromCAFile = []string{peer.URL}, peer.Config.CAFile
			}
		})
		f.Listen(t)
		f.AwaitReady(t)
		return f
	}
	a := replica(nil)
	b := replica(a)
	front := startBalancer(t, a.URL)
	counting := suite.Forward(t, front.Config)
	kubeconfig := suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := r.URL.Query(); query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" {
			lists.Add(1)
		}
		counting.ServeHTTP(w, r)
	}))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var all []toolscache.SharedIndexInformer
	for range 10 {
		clients := suite.NewClients(t, config)
		informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(clients.Dynamic, 0, s.Namespace, nil).ForResource(suite.ConfigMaps).Informer()
		suite.StartInformer(t, informer)
		all = append(all, informer)
	}
	begun := lists.Load()
	for round := range 2 {
		before := s.Put(t, suite.ConfigMaps, "changed", "", fmt.Sprint("before", round))
		for _, informer := range all {
			s.Converges(t, suite.ConfigMaps, informer)
		}
		suite.Reach(t, s.Oracle(t, b), suite.Collection(suite.ConfigMaps, s.Namespace), before) // else clients list
		front.replace(t, 0, b.URL)
		a.Close(t)
		s.Put(t, suite.ConfigMaps, "changed", "", fmt.Sprint("without", round))
		s.Put(t, suite.ConfigMaps, fmt.Sprint("added", round), "", "1")
		for _, informer := range all {
			s.Converges(t, suite.ConfigMaps, informer)
		}
		a = replica(b)
		if n := sum(scraped(t, s.Oracle(t, a).Facade), "listfacade_lane_fills_total", `source="peer"`); n != 1 {
			t.Errorf("%v lanes were filled from the peer: %v", n, a.Logs.All())
		}
		a, b = b, a
	}
	if now := lists.Load(); now != begun {
		t.Errorf("clients sent %d lists, want 0", now-begun)
	}
}
