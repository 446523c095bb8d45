package faults

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// TestLeavingInOrder: a facade that is asked to end serves on while it is not ready; then its watches end, each with a
// bookmark from which its client goes on without listing; and who comes meanwhile is told to come again.
func TestLeavingInOrder(t *testing.T) {
	settings.Long(t)
	s := suite.NewFixture(t, suite.Cluster(t))
	for i := range drainedObjects {
		s.Put(t, suite.ConfigMaps, fmt.Sprintf("o%d", i), "", strings.Repeat("x", 400<<10)) // more than any socket holds
	}
	run := suite.StartFacade(t, suite.Cluster(t), suite.Unpacked, func(c *facade.Config) {
		c.ShutdownDelay, c.WatchTermination, c.SendRetryAfter = 10*time.Second, 5*time.Second, true
		c.RequestTimeout, c.WriteTimeout, c.ShutdownGrace = suite.Patience, suite.Patience, suite.Patience
	})
	oracle := s.Oracle(t, run)
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	list := testkit.Question{Path: path + "?resourceVersion=0"}
	oracle.Facade.MustAsk(t, list)
	var watches []*testkit.Recorder
	for _, query := range []string{
		"&allowWatchBookmarks=1", "&allowWatchBookmarks=1&labelSelector=none%3Dhas",
		"&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan", "",
	} {
		watches = append(watches, oracle.Facade.MustRecord(t, testkit.Question{Path: path + "?watch=1" + query}))
	}
	last := s.Put(t, suite.ConfigMaps, "elsewhere", "", "2")
	suite.Reach(t, oracle, path, last)
	underWay := begin(t, run.HTTP1Client(t), run.URL+list.Path)
	if _, err := io.ReadFull(underWay.Body, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); run.Close(t) }()

	testkit.Eventually(t, "it is not ready", func() error {
		return answers(run, t, "/readyz?verbose", http.StatusInternalServerError, "[-]shutdown failed")
	})
	if a := oracle.Facade.MustAsk(t, testkit.Question{Path: path + "/elsewhere?resourceVersion=0"}); a.Code != http.StatusOK {
		t.Errorf("while it is not ready yet: %d %s", a.Code, a.Body)
	}
	for _, w := range watches {
		select {
		case <-w.Done():
			t.Errorf("a watch ended before its time: %s", w.SoFar())
		default:
		}
	}
	testkit.Eventually(t, "who comes is told to come again", func() error {
		return answers(run, t, path, http.StatusTooManyRequests, "The apiserver is shutting down, please try again later.")
	})
	for i, w := range watches {
		recording := w.Ended(t)
		if recording.Err != nil {
			t.Errorf("a watch broke off: %v", recording.Err)
		}
		events, err := recording.Events()
		if err != nil {
			t.Fatal(err)
		}
		bookmarked := len(events) > 0 && events[len(events)-1].Type == "BOOKMARK" && events[len(events)-1].RV >= last
		if wants := i < len(watches)-1; bookmarked != wants {
			t.Errorf("a watch that wants bookmarks: %t, has had its last: %t: %s", wants, bookmarked, recording)
		}
	}
	if err := readWhole(underWay); err != nil {
		t.Errorf("a list that was under way: %v", err)
	}
	<-ended
}

// answers tells whether a new connection is answered in this way.
func answers(run *suite.Facade, t *testing.T, path string, code int, text string) error {
	t.Helper()
	response, err := run.HTTP1Client(t).Get(run.URL + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != code || !strings.Contains(string(body), text)) {
		err = fmt.Errorf("%s: %.200s", response.Status, body)
	}
	return err
}
