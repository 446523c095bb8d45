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

// A facade that shuts down first becomes not ready and still serves. Then its watches end, each with a bookmark, from
// which its client resumes without a list. New requests meanwhile receive an answer that asks them to retry.
func TestShutdownEndsWatchesWithBookmark(t *testing.T) {
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

	testkit.Eventually(t, "the facade is not ready", func() error {
		return answers(run, t, "/readyz?verbose", http.StatusInternalServerError, "[-]shutdown failed")
	})
	if a := oracle.Facade.MustAsk(t, testkit.Question{Path: path + "/elsewhere?resourceVersion=0"}); a.Code != http.StatusOK {
		t.Errorf("before the facade is not ready: got %d %s", a.Code, a.Body)
	}
	for _, w := range watches {
		select {
		case <-w.Done():
			t.Errorf("a watch ended too early: %s", w.SoFar())
		default:
		}
	}
	testkit.Eventually(t, "new requests are asked to retry", func() error {
		return answers(run, t, path, http.StatusTooManyRequests, "The apiserver is shutting down, please try again later.")
	})
	for i, w := range watches {
		recording := w.Ended(t)
		if recording.Err != nil {
			t.Errorf("a watch did not end cleanly: %v", recording.Err)
		}
		events, err := recording.Events()
		if err != nil {
			t.Fatal(err)
		}
		bookmarked := len(events) > 0 && events[len(events)-1].Type == "BOOKMARK" && events[len(events)-1].RV >= last
		if wants := i < len(watches)-1; bookmarked != wants {
			t.Errorf("a watch that requests bookmarks: %t, got a last bookmark: %t: %s", wants, bookmarked, recording)
		}
	}
	if err := readWhole(underWay); err != nil {
		t.Errorf("a list in flight: %v", err)
	}
	<-ended
}

// answers returns an error unless a request on a new connection receives this answer.
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
