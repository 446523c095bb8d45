package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The first page has 100 objects. They are so large that the next one has 200, about 8 MB. The third has the rest.
const (
	fillingObjects = 310
	fillingLarge   = 100
	fillingBytes   = 40 << 10 // of each of the large ones
)

// Faults of kube-apiserver occur while a lane is filled page by page. Pages come from etcd, which may be compacted.
func TestFaultsWhileLaneIsFilled(t *testing.T) {
	settings.Long(t)
	t.Parallel() // this test has its own cluster
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiserver-arg=--feature-gates=ListFromCacheSnapshot=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	for name, c := range map[string]struct {
		media string
		lists int // number of lists: the first, and restarted ones
		meet  func(*filling, *testing.T)
	}{
		"objects change":             {suite.AcceptJSON, 1, (*filling).change},
		"objects change in protobuf": {protobufMedia, 1, (*filling).change},
		"the list is forgotten":      {suite.AcceptJSON, 2, (*filling).forget},
		"forgotten in protobuf":      {protobufMedia, 2, (*filling).forget},
	} {
		t.Run(name, func(t *testing.T) { newFilling(t, own, c.media, c.meet).run(t, c.lists) })
	}
}

const protobufMedia = "application/vnd.kubernetes.protobuf"

// filling is a facade whose requests for further pages meet a fault.
type filling struct {
	*suite.Fixture
	cluster *testkit.Cluster
	media   string
	config  string // the facade's way to the cluster
	first   sync.Once

	mu     sync.Mutex     // guards what follows, which is by media type
	begun  map[string]int // lists, by their first pages of objects
	served map[string]int // further pages
}

func newFilling(t *testing.T, own *testkit.Cluster, media string, meet func(*filling, *testing.T)) *filling {
	f := &filling{Fixture: suite.NewFixture(t, own), cluster: own, media: media, begun: map[string]int{}, served: map[string]int{}}
	forward := suite.Forward(t, suite.FacadeConfig(t, own))
	f.config = suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.URL.Path == suite.Collection(suite.ConfigMaps, "") && !query.Has("watch") && query.Get("includeObject") == "" && query.Has("limit") {
			f.count(r.Header.Get("Accept"), query.Has("continue"))
			if query.Has("continue") && r.Header.Get("Accept") == media {
				f.first.Do(func() { meet(f, t) })
			}
		}
		forward.ServeHTTP(w, r)
	}))
	for i := range fillingObjects {
		f.put(t, i, "before")
	}
	return f
}

func (f *filling) count(media string, further bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if further {
		f.served[media]++
	} else {
		f.begun[media]++
	}
}

func (f *filling) put(t *testing.T, i int, word string) {
	t.Helper()
	if i < fillingLarge {
		word += strings.Repeat(" some text", fillingBytes/10)
	}
	f.Put(t, suite.ConfigMaps, fmt.Sprintf("fill-%03d", i), "", word)
}

// change modifies, removes and adds objects of pages that were read, and of pages that were not.
func (f *filling) change(t *testing.T) {
	for _, i := range []int{3, 50, 120, 240, 305} {
		f.put(t, i, "meanwhile")
	}
	for _, i := range []int{7, 99, 100, 309} {
		f.Remove(t, suite.ConfigMaps, fmt.Sprintf("fill-%03d", i))
	}
	for _, i := range []int{500, 501} {
		f.put(t, i, "meanwhile")
	}
	f.Put(t, suite.ConfigMaps, "a-first", "", "meanwhile")
}

// forget compacts etcd beyond the version of the list.
func (f *filling) forget(t *testing.T) {
	f.change(t)
	if err := f.cluster.Compact(t.Context()); err != nil {
		t.Error(err)
	}
}

// run fills the lane. A watch with initial events must send every event once.
func (f *filling) run(t *testing.T, lists int) {
	run := suite.LaunchFacade(t, f.config, suite.Unpacked)
	run.AwaitReady(t)
	oracle := f.Oracle(t, run)
	path := suite.Collection(suite.ConfigMaps, f.Namespace)
	truth := oracle.Upstream.MustRecordWhole(t, testkit.Question{Path: path + "?watch=1&allowWatchBookmarks=true"})
	truth.Until(t, "the model has begun", suite.Begun)
	if f.media == protobufMedia {
		testkit.Eventually(t, "the lane is filled", func() error {
			if answer := oracle.Facade.MustAsk(t, f.question(path+"?resourceVersion=0&limit=1")); answer.Code != http.StatusOK {
				return fmt.Errorf("%d %s", answer.Code, answer.Body)
			}
			return nil
		})
		oracle.Compare(t, f.question(path))
	}
	testkit.Eventually(t, "the lane is filled", func() error {
		if answer := oracle.Facade.MustAsk(t, testkit.Question{Path: path + "?resourceVersion=0&limit=1"}); answer.Code != http.StatusOK {
			return fmt.Errorf("%d %s", answer.Code, answer.Body)
		}
		return nil
	})
	watch := oracle.Facade.MustRecord(t, testkit.Question{
		Path: path + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
	})
	after := f.Put(t, suite.ConfigMaps, "mark", "", "after")
	told := func(r *testkit.Recording) bool { return r.Reached() >= after }
	watch.Until(t, "the watch tells of the last write", told)
	model, err := testkit.NewModel(truth.Until(t, "the model is complete", told))
	if err != nil {
		t.Fatal(err)
	}
	if err := testkit.CheckWatch(watch.Close(), model); err != nil {
		t.Error(err)
	}
	oracle.Compare(t, f.question(path))
	oracle.Compare(t, testkit.Question{Path: path, Header: http.Header{"Accept": {suite.AcceptTable}}})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun[f.media] != lists || f.served[f.media] < 2 {
		t.Errorf("got %d lists, want %d; %d further pages were requested", f.begun[f.media], lists, f.served[f.media])
	}
}

func (f *filling) question(path string) testkit.Question {
	return testkit.Question{Path: path, Header: http.Header{"Accept": {f.media}}}
}
