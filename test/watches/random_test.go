package watches

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	randomWrites  = 300
	randomWatches = 20
	randomObjects = 12
)

// Watches with random selectors, representations and starts run through the facade while objects change at random. Some
// are canceled and resumed. Each must send exactly the events of kube-apiserver's own watch.
func TestRandomWatches(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	s.DefineGadgets(t)
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t), func(c *facade.Config) { c.BookmarkInterval = 100 * time.Millisecond }))
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		t.Run(gvr.Resource, func(t *testing.T) {
			w := &randomRun{Fixture: s, gvr: gvr, oracle: o, random: settings.Random(t)}
			w.run(t)
		})
	}
}

// randomRun is one run.
type randomRun struct {
	*suite.Fixture
	gvr    schema.GroupVersionResource
	oracle *testkit.Oracle
	random *rand.Rand
	open   []*testkit.Recorder
	cut    []*testkit.Recording // what was broken off and resumed
	rvs    []uint64             // of every write
}

func (w *randomRun) run(t *testing.T) {
	path := suite.Collection(w.gvr, "")
	w.rvs = append(w.rvs, w.Put(t, w.gvr, "first", "", "0"))
	suite.Reach(t, w.oracle, path, w.rvs[0]) // from here on the facade holds every version
	truth := w.oracle.Upstream.MustRecordWhole(t, testkit.Question{Path: path + "?watch=1&allowWatchBookmarks=true"})
	truth.Until(t, "the model has begun", func(r *testkit.Recording) bool {
		events, err := r.Events()
		return err == nil && len(events) > 0 && events[len(events)-1].InitialEnd
	})
	w.rvs = []uint64{truth.SoFar().Reached()}
	for i := range randomWrites {
		w.write(t)
		switch {
		case i%(randomWrites/randomWatches) == 0:
			w.open = append(w.open, w.oracle.Facade.MustRecord(t, w.question()))
		case i%23 == 0:
			w.resume(t)
		}
	}
	last := w.Put(t, w.gvr, "last", "", "0")
	reached := func(r *testkit.Recording) bool { return r.Reached() >= last }
	for _, recorder := range w.open {
		recorder.Until(t, "an event or a bookmark tells of the last write", reached)
	}
	recordings := w.cut
	for _, recorder := range w.open {
		recordings = append(recordings, recorder.Close())
	}
	// Bookmarks may be above the last write of this resource, so the model must cover later versions.
	after := w.Put(t, w.gvr, "last", "", "1")
	final := truth.Until(t, "the model is complete", func(r *testkit.Recording) bool { return r.Reached() >= after })
	model, err := testkit.NewModel(final)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordings {
		if err := testkit.CheckWatch(r, model); err != nil {
			t.Error(err)
		}
	}
}

// write makes one random change.
func (w *randomRun) write(t *testing.T) {
	t.Helper()
	name := fmt.Sprintf("o%d", w.random.IntN(randomObjects))
	if w.random.IntN(5) == 0 {
		err := w.In(w.gvr).Delete(t.Context(), name, metav1.DeleteOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		t.Fatal(err)
	}
	label := [...]string{"t=a", "t=b", "t=a,u=1", "u=1", ""}[w.random.IntN(5)]
	w.rvs = append(w.rvs, w.Put(t, w.gvr, name, label, fmt.Sprint(w.random.IntN(3))))
}

// question returns a random watch.
func (w *randomRun) question() testkit.Question {
	pick := func(choices ...string) string { return choices[w.random.IntN(len(choices))] }
	labels := pick("", "", "t=a", "t!=a", "t in (a,b)", "!t", "u", "u,t=a", "t=none")
	fields := pick("", "", "", "metadata.name=o1", "metadata.name!=o1", "metadata.namespace="+w.Namespace, "metadata.name=o2,metadata.namespace="+w.Namespace)
	if w.gvr == suite.Gadgets && fields == "" {
		fields = pick("", "spec.value=1", "spec.value!=1")
	}
	since := fmt.Sprintf("&resourceVersion=%d", w.rvs[w.random.IntN(len(w.rvs))])
	const initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	start := pick("", "&resourceVersion=0", since, since, initial, initial+since)
	accept := pick(suite.AcceptJSON, suite.AcceptJSON, suite.AcceptPartial, suite.AcceptTable, suite.AcceptTable)
	if w.gvr == suite.ConfigMaps && w.random.IntN(2) == 0 {
		const protobuf = "application/vnd.kubernetes.protobuf"
		accept = pick(protobuf, protobuf+","+suite.AcceptJSON, protobuf+";as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	}
	include := ""
	if accept == suite.AcceptTable {
		include = pick("", "&includeObject=Object", "&includeObject=None")
	}
	return testkit.Question{
		Path: suite.Collection(w.gvr, pick("", w.Namespace)) + "?watch=1&allowWatchBookmarks=true&labelSelector=" + url.QueryEscape(labels) +
			"&fieldSelector=" + url.QueryEscape(fields) + start + include,
		Header: suite.Accepting(accept),
	}
}

// resume cancels a random watch and adds one that resumes there.
func (w *randomRun) resume(t *testing.T) {
	t.Helper()
	i := w.random.IntN(len(w.open))
	so := w.open[i].SoFar()
	if so.Reached() == 0 || !suite.Begun(so) {
		return // nowhere to go on from yet
	}
	cut := w.open[i].Close()
	w.cut = append(w.cut, cut)
	w.open = slices.Delete(w.open, i, i+1)
	u, err := url.Parse(cut.Question.Path)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("resourceVersion", fmt.Sprint(cut.Reached()))
	query.Del("sendInitialEvents")
	query.Del("resourceVersionMatch")
	u.RawQuery = query.Encode()
	q := testkit.Question{Path: u.String(), Header: cut.Question.Header}
	w.open = append(w.open, w.oracle.Facade.MustRecord(t, q))
}
