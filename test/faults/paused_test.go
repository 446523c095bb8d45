package faults

import (
	"net/http"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// mostRecentReads are those that must show every write that was finished before.
var mostRecentReads = []string{"?timeout=1s", "?limit=2&timeout=1s", "?labelSelector=t%3Da&timeout=1s", "/mark?timeout=1s"}

// testPausedReads pauses kube-apiserver after a write that the facade has not heard of. What is most recent cannot be told then, and
// is not; pages of a version that the facade knows can. Who waited gets an answer with the write in it.
func testPausedReads(t *testing.T, th *theatre) {
	road := newSlowRoad(t, th.cluster)
	slow := &theatre{Fixture: th.Fixture, cluster: th.cluster, run: suite.LaunchFacade(t, road.kubeconfig)}
	t.Cleanup(road.release) // before the facade is closed
	slow.run.AwaitReady(t)
	slow.oracle = th.Fixture.Oracle(t, slow.run)
	all := slow.pasts(t)
	th.writes = append(th.writes, slow.writes...)
	slow.readRecent(t, 0) // only what was allowed before is shown while nobody can be asked whether it is
	road.shut()
	written := th.Put(t, suite.ConfigMaps, "mark", "", "paused")
	th.writes = append(th.writes, written)
	if answer := slow.oracle.Facade.MustAsk(t, slow.collection("?resourceVersion=0")); versions(answer)[0] >= written {
		t.Fatalf("the facade does not lag behind %d: it is at %d", written, versions(answer)[0])
	}
	th.do(t, "pause")
	paused := true
	defer func() {
		if paused {
			th.do(t, "continue")
		}
	}()
	patient := make([]*testkit.Answer, 5)
	var group errgroup.Group
	for i := range patient {
		group.Go(func() (err error) {
			patient[i], err = slow.oracle.Facade.Ask(t.Context(), slow.collection(""))
			return err
		})
	}
	for _, query := range mostRecentReads {
		if code, body := slow.ask(t, query); code != http.StatusServiceUnavailable && code != http.StatusGatewayTimeout {
			t.Errorf("most recent, %q: %d %s", query, code, body)
		}
	}
	for _, p := range all {
		if !p.ofConfigMaps() {
			continue // kube-apiserver's to answer
		}
		if diff := testkit.Diff(p.question(), p.answer, slow.oracle.Facade.MustAsk(t, p.question())); diff != "" {
			t.Errorf("%s: not as it was before\n%s", p.question(), diff)
		}
	}
	paused = false
	th.do(t, "continue")
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, answer := range patient {
		if answer.Code != http.StatusOK || versions(answer)[0] < written {
			t.Errorf("after the write at %d: %d %s", written, answer.Code, answer.Body)
		}
	}
	slow.readRecent(t, written) // the facade still lags
	road.release()
	th.survived(t)
}

// collection is a question about the stage's config maps.
func (th *theatre) collection(query string) testkit.Question {
	return testkit.Question{Path: suite.Collection(suite.ConfigMaps, th.Namespace) + query}
}

// readRecent holds that every most recent read shows what was written at a version; no object but mark was written since.
func (th *theatre) readRecent(t *testing.T, written uint64) {
	t.Helper()
	for _, query := range mostRecentReads {
		answer := th.oracle.Facade.MustAsk(t, th.collection(query))
		if answer.Code != http.StatusOK || versions(answer)[0] < written {
			t.Errorf("%q after the write at %d: %d %s", query, written, answer.Code, answer.Body)
		}
	}
}
