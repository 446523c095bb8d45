package suite

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Reach waits until both caches have reached a version. Their answers at version 0 are then equal.
func Reach(t testing.TB, o *testkit.Oracle, path string, rv uint64) {
	t.Helper()
	ReachIn(t, o, path, "", rv)
}

// ReachIn is Reach for the caches of a media type.
func ReachIn(t testing.TB, o *testkit.Oracle, path, accept string, rv uint64) {
	t.Helper()
	header := http.Header{}
	if accept != "" {
		header = Accepting(accept)
	}
	for _, asker := range []*testkit.Asker{o.Upstream, o.Facade} {
		testkit.Eventually(t, "the cache has the objects", func() error {
			answer, err := asker.Ask(t.Context(),
				testkit.Question{Path: fmt.Sprintf("%s?resourceVersion=%d", path, rv), Header: header})
			if err == nil && answer.Code != http.StatusOK {
				err = fmt.Errorf("%d: %s", answer.Code, answer.Body)
			}
			return err
		})
	}
}

// Pair is the same watch on both servers.
type Pair struct {
	Upstream, Facade *testkit.Recorder
}

// WatchBoth opens a watch on both servers. The watches end with the test.
func WatchBoth(t testing.TB, o *testkit.Oracle, q testkit.Question) Pair {
	t.Helper()
	return Pair{Upstream: o.Upstream.MustRecord(t, q), Facade: o.Facade.MustRecord(t, q)}
}

// Same compares the events of both watches up to a version that both must reach.
func (p Pair) Same(t testing.TB, last uint64) {
	t.Helper()
	told := func(r *testkit.Recording) bool {
		events, err := r.Events()
		return err == nil && len(events) > 0 && lastEvent(events) >= last
	}
	want := p.Upstream.Until(t, fmt.Sprintf("upstream tells of %d", last), told)
	got := p.Facade.Until(t, fmt.Sprintf("the facade tells of %d", last), told)
	if diff := testkit.DiffRecordings(want.Through(last), got.Through(last)); diff != "" {
		t.Errorf("%s\n%s", want.Question, diff)
	}
}

// lastEvent returns the highest version of an event that is not a bookmark.
func lastEvent(events []testkit.Event) uint64 {
	highest := uint64(0)
	for _, e := range events {
		if e.Type != testkit.Bookmark {
			highest = max(highest, e.RV)
		}
	}
	return highest
}

// Begun reports whether a recording contains all of its initial events.
func Begun(r *testkit.Recording) bool {
	events, err := r.Events()
	ended := func(e testkit.Event) bool { return e.InitialEnd }
	u, _ := url.Parse(r.Question.Path)
	since := u.Query().Get("resourceVersion")
	live := since != "" && since != "0" && !u.Query().Has("sendInitialEvents")
	return err == nil && (live || slices.ContainsFunc(events, ended))
}
