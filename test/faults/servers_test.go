package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The kube-apiservers of TestServersBehindOneAddress. All writes go to the first.
const (
	first  = "kube-apiserver"
	second = "kube-apiserver-2"
)

// Two kube-apiservers of one etcd are behind a balancer. Their caches have different ages and windows.
func TestServersBehindOneAddress(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiservers=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	suite.NewFixture(t, own).DefineGadgets(t)
	for _, test := range []struct {
		name     string
		run      func(*testing.T, *several)
		settings []func(*facade.Config)
	}{
		{"in turn", testInTurn, nil},
		{"one is behind", testOneBehind, nil},
		{"one is killed", testOneKilled, nil},
		{"one has lost the window", testOneWithoutWindow, []func(*facade.Config){withoutBridges}},
		{"a gap is bridged", testLostWindowReplayed, nil},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newSeveral(t, own, test.settings...)) })
	}
}

// several is a survivors whose facade reads from several servers, with a client that continuously reads at any age.
type several struct {
	*survivors
	balancer *serverBalancer
}

func newSeveral(t *testing.T, own *testkit.Cluster, settings ...func(*facade.Config)) *several {
	t.Helper()
	b := newBalancer(t, own)
	run := suite.LaunchFacade(t, b.kubeconfig, append(settings, surviving)...)
	run.AwaitReady(t)
	s := &several{survivors: survivorsOf(t, own, run), balancer: b}
	s.readsAnyAge(t)
	return s
}

// readsAnyAge reads at any age until the test ends. An answer must never be older than an earlier one.
func (s *several) readsAnyAge(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	q := testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace) + "?resourceVersion=0"}
	go func() {
		defer close(done)
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for last, asked := uint64(0), 0; ; asked++ {
			select {
			case <-again.C:
			case <-ctx.Done():
			}
			rv, err := s.listed(ctx, q)
			if ctx.Err() != nil {
				t.Logf("%d reads of any age, the last at %d", asked, last)
				return
			}
			if err != nil || rv < last {
				t.Errorf("%s: got version %d after %d (%v)", q, rv, last, err)
				return
			}
			last = rv
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// listed requests a list and returns its version.
func (s *several) listed(ctx context.Context, q testkit.Question) (uint64, error) {
	answer, err := s.oracle.Facade.Ask(ctx, q)
	if err != nil {
		return 0, err
	}
	var list struct {
		Metadata struct {
			ResourceVersion uint64 `json:",string"`
		}
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil || answer.Code != http.StatusOK {
		return 0, fmt.Errorf("%d: %w: %s", answer.Code, err, answer.Body)
	}
	return list.Metadata.ResourceVersion, nil
}

// readsOwn writes an object, and sends every kind of consistent read.
func (s *several) readsOwn(t *testing.T) {
	t.Helper()
	rv := s.Put(t, suite.ConfigMaps, "own", "", fmt.Sprint(len(s.writes)))
	s.writes = append(s.writes, rv)
	for _, query := range []string{"", "?limit=100", "/own"} {
		s.shows(t, query, rv)
	}
}

// shows checks that an answer for the fixture's config maps contains an object at a version.
func (s *several) shows(t *testing.T, query string, rv uint64) {
	t.Helper()
	if code, body := s.ask(t, query); code != http.StatusOK || !strings.Contains(body, string(inObject(rv))) {
		t.Errorf("%q: got %d without the earlier write at %d: %s", query, code, rv, body)
	}
}

// lastWrite returns the version of the last write.
func (s *several) lastWrite() uint64 { return s.writes[len(s.writes)-1] }

// keptWatching checks that no lane was listed again, and that the client's watch stayed open.
func (s *several) keptWatching(t *testing.T) {
	t.Helper()
	s.survived(t)
	if relists := relistsOf(t, s.oracle); relists != "" {
		t.Errorf("lanes were listed again:\n%s", relists)
	}
	if _, opened, listed := s.client.look(); opened != 1 || listed != 1 {
		t.Errorf("the client opened %d watches and listed %d times", opened, listed)
	}
}

// testInTurn moves the lane's watch from one server to the other while objects change.
func testInTurn(t *testing.T, s *several) {
	truth := s.oracle.Upstream.MustRecordWhole(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, "") + "?watch=1&allowWatchBookmarks=true"})
	truth.Until(t, "the model has begun", suite.Begun)
	watch := s.oracle.Facade.MustRecord(t, testkit.Question{
		Path: fmt.Sprintf("%s?watch=1&allowWatchBookmarks=true&resourceVersion=%d", suite.Collection(suite.ConfigMaps, ""), truth.SoFar().Reached()),
	})
	served := map[string]int{}
	for _, name := range s.balancer.names {
		served[name] = s.balancer.opened(name)
	}
	for range 6 {
		s.readsOwn(t)
		s.balancer.cut(t)
		s.write(t)
		s.readsOwn(t)
	}
	s.keptWatching(t)
	for _, name := range s.balancer.names {
		if s.balancer.opened(name) == served[name] {
			t.Errorf("%s received no watch", name)
		}
	}
	last := s.lastWrite()
	watch.Until(t, "the watch tells of the last write", func(r *testkit.Recording) bool { return r.Reached() >= last })
	recording := watch.Close()
	after := s.Put(t, suite.ConfigMaps, "mark", "", "after")
	model, err := testkit.NewModel(truth.Until(t, "the model is complete", func(r *testkit.Recording) bool { return r.Reached() >= after }))
	if err != nil {
		t.Fatal(err)
	}
	if err := testkit.CheckWatch(recording, model); err != nil {
		t.Error(err)
	}
}

// testOneBehind resumes the lane's watch on a server that has not reached the lane's version, and accepts the watch
// without an event.
func testOneBehind(t *testing.T, s *several) {
	for range 3 {
		s.balancer.send(to(first))
		s.balancer.cut(t)
		s.doTo(t, second, "pause")
		s.change(t) // the lane knows, the second server does not
		s.balancer.send(watchesTo(second, first))
		asked := s.balancer.opened(second)
		s.balancer.cut(t)
		s.readsOwn(t) // no watch receives this write
		s.doTo(t, second, "continue")
		s.balancer.send(watchesTo(second, ""))
		s.readsOwn(t)
		s.change(t)
		if s.balancer.opened(second) == asked {
			t.Error("the lane's watch was not resumed on the server that is behind")
		}
	}
	s.keptWatching(t)
}

// testOneKilled kills the server of the lane's watch.
func testOneKilled(t *testing.T, s *several) {
	s.balancer.send(watchesTo(second, first))
	s.balancer.cut(t)
	s.change(t)
	s.doTo(t, second, "kill")
	s.readsOwn(t)
	s.balancer.send(to(first))
	s.readsOwn(t)
	s.change(t)
	s.doTo(t, second, "start")
	s.balancer.send(watchesTo(first, "")) // the window of the second may begin after what the lane has
	s.balancer.cut(t)
	s.keptWatching(t)
}

// testOneWithoutWindow resumes the lane's watch on a server that started after the missed events. The lane is listed
// again. As replay is disabled, its clients list again, too (I11).
func testOneWithoutWindow(t *testing.T, s *several) {
	_, _, listed := s.client.look()
	s.balancer.send(to(first))
	s.balancer.cut(t)
	s.change(t)
	s.balancer.holdBack(isLanes)
	s.write(t) // the lane does not receive it
	s.readsOwn(t)
	s.doTo(t, second, "kill")
	s.write(t) // a read may have brought the lane to all that was there before
	s.doTo(t, second, "start")
	s.balancer.send(watchesTo(second, first))
	s.balancer.cut(t)
	s.balancer.holdBack(func(*http.Request) bool { return false })
	s.readsOwn(t)
	s.survived(t)
	if _, _, now := s.client.look(); now == listed {
		t.Error("the client did not receive a 410")
	}
	if relistsOf(t, s.oracle) == "" {
		t.Error("no lane was listed again")
	}
}
