package faults

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// lists records the requests of informers, except resumed watches.
type lists struct {
	mu    sync.Mutex // guards asked
	asked []string
}

func (l *lists) around(next http.RoundTripper) http.RoundTripper {
	return roundTrips(func(r *http.Request) (*http.Response, error) {
		if query := r.URL.Query(); query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" {
			l.mu.Lock()
			l.asked = append(l.asked, r.URL.String())
			l.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (l *lists) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked)
}

// gapInformers returns informers by name: in JSON and protobuf, of complete objects and of metadata.
func gapInformers(t *testing.T, s *survivors, counted *lists) map[schema.GroupVersionResource][]toolscache.SharedIndexInformer {
	t.Helper()
	config := rest.CopyConfig(s.run.Config)
	config.Wrap(counted.around)
	clients := suite.NewClients(t, config)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	protobuf := suite.NewClients(t, config)
	unstructured := dynamicinformer.NewFilteredDynamicSharedInformerFactory(clients.Dynamic, 0, s.Namespace, nil)
	partial := metadatainformer.NewFilteredSharedInformerFactory(clients.Metadata, 0, s.Namespace, nil)
	typed := informers.NewSharedInformerFactoryWithOptions(protobuf.Typed, 0, informers.WithNamespace(s.Namespace))
	all := map[schema.GroupVersionResource][]toolscache.SharedIndexInformer{
		suite.ConfigMaps: {
			unstructured.ForResource(suite.ConfigMaps).Informer(), partial.ForResource(suite.ConfigMaps).Informer(),
			typed.Core().V1().ConfigMaps().Informer(),
		},
		// Metadata of custom resources in protobuf, which a metadata client asks for, are kube-apiserver's to
		// answer.
		suite.Gadgets: {unstructured.ForResource(suite.Gadgets).Informer()},
	}
	for _, of := range all {
		for _, informer := range of {
			suite.StartInformer(t, informer)
		}
	}
	return all
}

// testLostWindowReplayed holds back the lanes' watches while objects are written, deleted and created again. Then it
// sends the watches to a server that has started since. Watches of all kinds continue and receive the differences. A
// facade behind this one also loses its window, and replays the differences to its own watches.
func testLostWindowReplayed(t *testing.T, s *several) {
	s.balancer.send(to(first))
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		for i, labels := range []string{"t=a", "t=a", "t=b", "t=b", "t=a", "t=a"} {
			s.Put(t, gvr, fmt.Sprintf("g%d", i), labels, "before")
		}
	}
	behind := suite.StartBehind(t, s.run)
	chained := dynamicinformer.NewFilteredDynamicSharedInformerFactory(suite.NewClients(t, behind.Config).Dynamic, 0, s.Namespace, nil).
		ForResource(suite.ConfigMaps).Informer()
	suite.StartInformer(t, chained)
	counted := new(lists)
	informers := gapInformers(t, s.survivors, counted)
	truths, watches := map[schema.GroupVersionResource]*testkit.Recorder{}, map[schema.GroupVersionResource][]*testkit.Recorder{}
	for gvr := range informers {
		truths[gvr] = s.oracle.Upstream.MustRecordWhole(t, testkit.Question{Path: suite.Collection(gvr, s.Namespace) + "?watch=1&allowWatchBookmarks=true"})
		truths[gvr].Until(t, "the model has begun", suite.Begun)
		// A watch that starts after the lane's version cannot receive the replay, so watches start at an event
		// of the lanes.
		reached := s.Put(t, gvr, "begun", "t=b", "before")
		s.fills(t, gvr)
		suite.Reach(t, s.oracle, suite.Collection(gvr, s.Namespace), reached)
		watches[gvr] = gapWatches(t, s, gvr, reached)
	}
	listed := counted.count()
	s.change(t)

	s.balancer.holdBack(isLanes)
	inside := s.missed(t)
	s.doTo(t, second, "kill")
	s.doTo(t, second, "start")
	s.balancer.send(watchesTo(second, first))
	s.balancer.cut(t)
	s.balancer.holdBack(func(*http.Request) bool { return false })
	s.survived(t)

	s.Converges(t, suite.ConfigMaps, chained)
	if lost, others := behind.LostWindows(suite.ConfigMaps); len(lost["json"]) == 0 || len(others) > 0 {
		t.Errorf("in the second facade the lost windows are %v, those not replayed: %v", lost, others)
	}
	for gvr, of := range informers {
		for _, informer := range of {
			s.Converges(t, gvr, informer)
		}
		lost, others := s.run.LostWindows(gvr)
		if len(lost["json"]) == 0 || gvr == suite.ConfigMaps && len(lost["protobuf"]) == 0 || len(others) > 0 {
			t.Fatalf("%s: the lost windows are %v, those not replayed: %v", gvr.Resource, lost, others)
		}
		s.holds(t, gvr, truths[gvr], watches[gvr], lost["json"])
		expired(t, s.oracle.Facade.MustRecord(t, testkit.Question{
			Path: fmt.Sprintf("%s?watch=1&resourceVersion=%d", suite.Collection(gvr, s.Namespace), inside),
		}))
		s.sameAs(t, fmt.Sprintf("%s?resourceVersionMatch=Exact&resourceVersion=%d", suite.Collection(gvr, s.Namespace), inside))
	}
	if n := counted.count(); n != listed {
		t.Errorf("informers listed again: %v", counted.asked[listed:])
	}
}

// missed writes changes that the lanes do not receive, and returns a version between them.
func (s *several) missed(t *testing.T) (inside uint64) {
	t.Helper()
	for _, gvr := range []schema.GroupVersionResource{suite.ConfigMaps, suite.Gadgets} {
		s.Put(t, gvr, "g0", "t=a", "changed")
		s.Put(t, gvr, "g0", "t=a", "changed again")
		s.Put(t, gvr, "g1", "t=b", "left")
		s.Put(t, gvr, "g2", "t=a", "entered")
		s.Remove(t, gvr, "g3")
		s.Remove(t, gvr, "g4")
		s.Put(t, gvr, "g4", "t=a", "another")
		s.Put(t, gvr, "fleeting", "t=a", "came and went")
		s.Put(t, gvr, "new", "t=a", "created")
		inside = s.Put(t, gvr, "new", "t=a", "created and changed")
		s.Remove(t, gvr, "fleeting")
		s.Remove(t, gvr, "g5")
	}
	s.write(t)
	return inside
}

// streamed is the query for initial events.
const streamed = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

// gapWatches opens many kinds of watches on the facade.
func gapWatches(t *testing.T, s *several, gvr schema.GroupVersionResource, at uint64) (all []*testkit.Recorder) {
	t.Helper()
	from := fmt.Sprintf("&resourceVersion=%d", at)
	for _, query := range []string{
		from, streamed, streamed + "&labelSelector=t%3Da", from + "&labelSelector=t%3Da", from + "&labelSelector=t%21%3Da",
		from + "&fieldSelector=metadata.name%3Dg4", from + "&fieldSelector=metadata.name%3Dnever",
	} {
		for _, accept := range []string{suite.AcceptJSON, suite.AcceptTable, suite.AcceptPartial} {
			all = append(all, s.oracle.Facade.MustRecord(t, testkit.Question{
				Path: suite.Collection(gvr, s.Namespace) + "?watch=1&allowWatchBookmarks=true" + query, Header: suite.Accepting(accept),
			}))
		}
	}
	for _, watch := range all {
		watch.Until(t, "the watch has begun", suite.Begun)
	}
	return all
}

// holds checks the watches against the watch of the first server, which has lost nothing.
func (s *several) holds(t *testing.T, gvr schema.GroupVersionResource, truth *testkit.Recorder, watches []*testkit.Recorder, lost []testkit.LostWindow) {
	t.Helper()
	last := s.Put(t, gvr, "g0", "t=a", "last")
	model, err := testkit.NewModel(truth.Until(t, "the model is complete", func(r *testkit.Recording) bool { return r.Reached() >= last }))
	if err != nil {
		t.Fatal(err)
	}
	model.Close(last)
	for _, watch := range watches {
		watch.Until(t, "the watch is behind the last write", func(r *testkit.Recording) bool { return r.Reached() >= last })
		told := watch.Close()
		if err := testkit.CheckReplayed(told, model, lost...); err != nil {
			t.Error(err)
		}
		if strings.Contains(told.Question.Path, streamed) && told.Question.Header.Get("Accept") == suite.AcceptJSON {
			s.cutOff(t, told, lost[0], last)
		}
	}
}

// cutOff simulates clients that are cut off after each event of a replay, and resume on the server that has lost
// nothing. They must end with the current state.
func (s *several) cutOff(t *testing.T, told *testkit.Recording, lost testkit.LostWindow, last uint64) {
	t.Helper()
	events, err := told.Events()
	if err != nil {
		t.Fatal(err)
	}
	want, deletions := held(events), 0
	for i, e := range events {
		if e.RV < lost.From || e.RV > lost.To || e.Type == testkit.Bookmark {
			continue
		}
		if e.Type == testkit.Deleted {
			deletions++
		}
		elsewhere := s.oracle.Upstream.MustRecord(t, testkit.Question{
			Path: strings.Replace(told.Question.Path, streamed, fmt.Sprintf("&resourceVersion=%d", e.RV), 1),
		})
		elsewhere.Until(t, "the watch goes on elsewhere", func(r *testkit.Recording) bool { return r.Reached() >= last })
		more, err := elsewhere.Close().Events()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, held(append(slices.Clone(events[:i+1]), more...))); diff != "" {
			t.Errorf("%s: cut off after %s (-complete +resumed on the other server):\n%s", told.Question, e, diff)
		}
	}
	if deletions < 2 {
		t.Errorf("%s: got %d deletions in the replay", told.Question, deletions)
	}
}

// held returns the state of a client that received these events, by key.
func held(events []testkit.Event) map[string]uint64 {
	objects := map[string]uint64{}
	for _, e := range events {
		switch e.Type {
		case testkit.Bookmark:
		case testkit.Deleted:
			delete(objects, e.Key)
		default:
			objects[e.Key] = e.RV
		}
	}
	return objects
}

// sameAs checks that the facade and kube-apiserver send the same list.
func (s *several) sameAs(t *testing.T, path string) {
	t.Helper()
	q := testkit.Question{Path: path}
	want, err := s.oracle.Upstream.Ask(t.Context(), q)
	got, gotErr := s.oracle.Facade.Ask(t.Context(), q)
	if err = errors.Join(err, gotErr); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" || want.Code != got.Code {
		t.Errorf("%s: %d, %d (-kube-apiserver +facade)\n%s", q, want.Code, got.Code, diff)
	}
}
