package watches

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A watch from a version before the start of the facade receives the same events from both servers, in each
// representation and for each selection.
func TestWatchFromBeforeTheFacade(t *testing.T) {
	t.Parallel()
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) { testWatchFromBefore(t, s, gvr) })
	}
}

// olderSelections are selections of a namespace's objects whose last event in transitions is that of x.
func olderSelections(namespace string) map[string]struct{ namespace, query string } {
	return map[string]struct{ namespace, query string }{
		"all":               {namespace, ""},
		"label":             {namespace, "&labelSelector=t%3Da"},
		"label set":         {namespace, "&labelSelector=t+in+(a,c)"},
		"name":              {namespace, "&fieldSelector=metadata.name%3Dx"},
		"name and label":    {namespace, "&fieldSelector=metadata.name%3Dx&labelSelector=t%3Da"},
		"another namespace": {"", "&labelSelector=t%3Da&fieldSelector=metadata.namespace%3D" + namespace},
		"namespace":         {"", "&fieldSelector=metadata.namespace%3D" + namespace},
	}
}

// testWatchFromBefore starts a facade after changes, opens watches from versions before and within them, and makes the
// changes again.
func testWatchFromBefore(t *testing.T, s *suite.Fixture, gvr schema.GroupVersionResource) {
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	// kube-apiserver has all later versions.
	suite.Reach(t, o, suite.Collection(gvr, s.Namespace), s.Put(t, gvr, "first", "t=a", "0"))
	before := s.Put(t, gvr, "there", "t=a", "0")
	within, _ := transitions(t, s, gvr)
	transitions(t, s, gvr)
	other := map[schema.GroupVersionResource]schema.GroupVersionResource{suite.ConfigMaps: suite.Gadgets, suite.Gadgets: suite.ConfigMaps}[gvr]
	s.Put(t, other, "later", "", "") // the facade's first version is not one of the resource
	o = s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	forms := map[string]testkit.Question{}
	for representation, as := range watchForms {
		forms[representation] = testkit.Question{Path: as.query, Header: suite.Accepting(as.accept)}
	}
	for representation, accept := range protobufForms {
		if gvr != suite.Gadgets {
			forms["protobuf, "+representation] = testkit.Question{Header: suite.Accepting(accept)}
		}
	}
	pairs := map[string]suite.Pair{}
	for name, selection := range olderSelections(s.Namespace) {
		for representation, form := range forms {
			for _, rv := range []uint64{before, within} {
				form.Path = fmt.Sprintf("%s?watch=1&allowWatchBookmarks=true&resourceVersion=%d%s%s",
					suite.Collection(gvr, selection.namespace), rv, selection.query, watchForms[representation].query)
				pairs[fmt.Sprintf("%s, %s, from %d", name, representation, rv)] = suite.WatchBoth(t, o, form)
			}
		}
	}
	x, _ := transitions(t, s, gvr)
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) { p.Same(t, x) })
	}
}
