package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A facade has two kube-apiservers of one etcd. The test stops the one that it uses. The lanes resume their watches on
// the other, whose window has the next events. Only a read in flight may fail.
func TestLanesSwitchToAnotherEndpoint(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	own, err := testkit.StartCluster(t.Context(), "--components=none", "--apiservers=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	suite.NewFixture(t, own).DefineGadgets(t)
	s := newSurvivors(t, own, func(c *facade.Config) { c.Upstream = []string{own.Servers[second], own.Servers[first]} })
	s.asks(t, own.Servers[second])
	s.knows(t, own.Servers[first])
	failed := s.readsConsistently(t)
	s.change(t)
	if err := own.Do(t.Context(), second, "kill"); err != nil {
		t.Fatal(err)
	}
	s.asks(t, own.Servers[first])
	s.survived(t)
	if relists := relistsOf(t, s.oracle); relists != "" {
		t.Errorf("lanes were listed again:\n%s", relists)
	}
	if _, opened, listed := s.client.look(); opened != 1 || listed != 1 {
		t.Errorf("the client opened %d watches and listed %d times", opened, listed)
	}
	if err := own.Do(t.Context(), second, "start"); err != nil {
		t.Fatal(err)
	}
	s.knows(t, own.Servers[second])
	s.asks(t, own.Servers[first]) // it is not gone back to
	if err := own.Do(t.Context(), first, "kill"); err != nil {
		t.Fatal(err)
	}
	s.asks(t, own.Servers[second])
	if err := own.Do(t.Context(), first, "start"); err != nil { // whose clients write
		t.Fatal(err)
	}
	s.survived(t)
	if n := failed.Load(); n > 2 {
		t.Errorf("%d consistent reads failed", n)
	}
}

// asks waits until the facade's metrics name a server as the one in use.
func (s *survivors) asks(t *testing.T, server string) {
	t.Helper()
	s.says(t, "in_use", server)
}

// knows waits until the facade has found a server ready, because reads fail before that.
func (s *survivors) knows(t *testing.T, server string) {
	t.Helper()
	s.says(t, "ready", server)
}

// says waits until a metric of the facade names a server.
func (s *survivors) says(t *testing.T, what, server string) {
	t.Helper()
	series := fmt.Sprintf(`listfacade_upstream_endpoint_%s{endpoint=%q} 1`, what, strings.TrimPrefix(server, "https://"))
	testkit.Eventually(t, what+": "+server, func() error {
		answer, err := s.oracle.Facade.Ask(t.Context(), testkit.Question{Path: "/metrics"})
		if err == nil && !strings.Contains(string(answer.Body), series) {
			err = fmt.Errorf("%d, without %s", answer.Code, series)
		}
		return err
	})
}

// readsConsistently sends consistent reads, one after the other, until the test ends, and counts failures.
func (s *survivors) readsConsistently(t *testing.T) *atomic.Int64 {
	t.Helper()
	failed, asked := new(atomic.Int64), 0
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	q := testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace)}
	go func() {
		defer close(done)
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for ; ; asked++ {
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
			if answer, err := s.oracle.Facade.Ask(ctx, q); ctx.Err() == nil && (err != nil || answer.Code != http.StatusOK) {
				failed.Add(1)
				t.Logf("a consistent read: %v, %v", answer, err)
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
		t.Logf("%d consistent reads, of which %d have failed", asked, failed.Load())
	})
	return failed
}
