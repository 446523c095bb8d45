package incidents

import (
	"net/http"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Without a fault no alert fires, even after a long time.
func TestHealthy(t *testing.T) {
	t.Parallel()
	s, path := newCrowd(t)
	way := interpose(t)
	run, other := suite.StartFacadeBy(t, way.kubeconfig, suite.Unpacked), suite.StartFacade(t, suite.Cluster(t), suite.Unpacked)
	for _, f := range []*suite.Facade{run, other} {
		recent, cached := startReaders(t, f.Config, path)
		recent.gets(t, http.StatusOK)
		cached.gets(t, http.StatusOK)
	}
	m := watch(t, nil, run, other)
	begin := s.Put(t, suite.ConfigMaps, "a", "", "1")
	w := s.Oracle(t, run).Facade.MustRecord(t, testkit.Question{Path: path + "?watch=1"})
	m.passes(t, 2)
	m.fires()
	last := begin
	for range 16 {
		last = s.Put(t, suite.ConfigMaps, "a", "", "2")
		m.passes(t, 3)
		m.fires()
	}
	w.Until(t, "the watch has everything", func(r *testkit.Recording) bool { return r.Reached() >= last })
	m.verify(t)
}
