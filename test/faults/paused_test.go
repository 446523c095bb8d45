package faults

import (
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// mostRecentReads are the reads that must contain every earlier write.
var mostRecentReads = []string{"?", "?limit=2&", "?labelSelector=t%3Da&", "/mark?"}

// testPausedReads pauses kube-apiserver after a write that the facade has not received. Consistent reads then fail or
// wait, and pages of a cached version are served. Waiting reads later receive an answer that contains the write.
func testPausedReads(t *testing.T, s *survivors) {
	proxy := newSlowProxy(t, s.cluster)
	slow := &survivors{Fixture: s.Fixture, cluster: s.cluster, run: suite.LaunchFacade(t, proxy.kubeconfig, func(c *facade.Config) {
		c.MaxStaleness = 10 * time.Minute
		c.PagedFrom = 50 // a streaming list is of a later version than pages, which the questions are about
	})}
	t.Cleanup(proxy.release) // before the facade is closed
	slow.run.AwaitReady(t)
	slow.oracle = s.Oracle(t, slow.run)
	all := slow.pasts(t)
	s.writes = append(s.writes, slow.writes...)
	slow.readRecent(t, 0) // while reviews fail, only cached decisions allow a request
	proxy.shut()
	written := s.Put(t, suite.ConfigMaps, "mark", "", "paused")
	s.writes = append(s.writes, written)
	if answer := slow.oracle.Facade.MustAsk(t, slow.collection("?resourceVersion=0")); versions(answer)[0] >= written {
		t.Fatalf("the facade does not lag behind %d: it is at %d", written, versions(answer)[0])
	}
	s.do(t, "pause")
	paused := true
	defer func() {
		if paused {
			s.do(t, "continue")
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
		if code, body := slow.ask(t, query+"timeout=1s"); code != http.StatusServiceUnavailable && code != http.StatusGatewayTimeout {
			t.Errorf("most recent, %q: %d %s", query, code, body)
		}
	}
	for _, p := range all {
		if !p.ofConfigMaps() {
			continue // kube-apiserver's to answer
		}
		if diff := testkit.Diff(p.question(), p.answer, slow.oracle.Facade.MustAsk(t, p.question())); diff != "" {
			t.Errorf("%s: the answer has changed\n%s", p.question(), diff)
		}
	}
	paused = false
	s.do(t, "continue")
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, answer := range patient {
		if answer.Code != http.StatusOK || versions(answer)[0] < written {
			t.Errorf("after the write at %d: %d %s", written, answer.Code, answer.Body)
		}
	}
	slow.readRecent(t, written) // the facade still lags
	proxy.release()
	s.survived(t)
}

// collection returns a question for the fixture's config maps.
func (s *survivors) collection(query string) testkit.Question {
	return testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace) + query}
}

// readRecent checks that every consistent read contains the write at a version. Since then only the object mark was
// written.
func (s *survivors) readRecent(t *testing.T, written uint64) {
	t.Helper()
	for _, query := range mostRecentReads {
		answer := s.oracle.Facade.MustAsk(t, s.collection(query))
		if answer.Code != http.StatusOK || versions(answer)[0] < written {
			t.Errorf("%q after the write at %d: %d %s", query, written, answer.Code, answer.Body)
		}
	}
}
