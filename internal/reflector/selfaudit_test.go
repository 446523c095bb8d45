package reflector

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// auditing runs a test with a lane of some objects that is compared with the upstream once per hour.
func auditing(t *testing.T, objects int, memory Memory, test func(*testing.T, *rig)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, Config{SelfAudit: time.Hour, Memory: memory})
		for i := range objects {
			r.Put(fmt.Sprintf("ns/%04d", i), "value")
		}
		r.synced(t)
		test(t, r)
	})
}

// lying makes the upstream replace a text in its lists by another.
func (r *rig) lying(text, instead string) {
	r.Script(testkit.AskList, func(w http.ResponseWriter, q *http.Request) {
		truth := httptest.NewRecorder()
		r.Truth(truth, q)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.ReplaceAll(truth.Body.Bytes(), []byte(text), []byte(instead)))
	})
}

// untilRelisted waits in virtual time until the self-audit lists the lane again.
func (r *rig) untilRelisted(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(3 * time.Hour); r.audits.relisted.Load() == 0; elapse(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("the lane is not listed again: %v", r.results())
		}
	}
}

// untilResult waits in virtual time until that many pages had a result. A page that is due in the first second of a
// watch is read a minute later, because the lane has not received anything yet.
func (r *rig) untilResult(t *testing.T, result string, pages int) {
	t.Helper()
	until(t, time.Second, fmt.Sprint(pages, " pages are ", result), func() bool { return r.results()[result] >= pages })
}

// compared returns the number of objects compared.
func (r *rig) compared() int {
	r.audits.Lock()
	defer r.audits.Unlock()
	return r.audits.objects
}

// kinds returns the kinds of the differences.
func (r *rig) kinds() []string {
	r.audits.Lock()
	defer r.audits.Unlock()
	return slices.Clone(r.audits.kinds)
}

// results counts the pages by result.
func (r *rig) results() map[string]int {
	r.audits.Lock()
	defer r.audits.Unlock()
	all := map[string]int{}
	for _, page := range r.audits.pages {
		all[page]++
	}
	return all
}

// TestAuditIsSpread checks that a lane is compared once per interval, page by page, each at an exact version.
func TestAuditIsSpread(t *testing.T) {
	auditing(t, 1200, nil, func(t *testing.T, r *rig) {
		filled := r.Asked(testkit.AskList)
		elapse(50 * time.Minute)
		if age := r.lane(t).Unaudited(); age < 50*time.Minute && r.audits.passes.Load() == 0 {
			t.Errorf("got a last pass %s ago, want none", age)
		}
		if got := r.results(); got[pageSame] < 2 || got[pageSame] > 3 || r.compared() > 1200 {
			t.Errorf("got results %v and %d objects in the first hour", got, r.compared())
		}
		hours := settings.Amount(4, 24)
		elapse(time.Duration(hours) * time.Hour)
		if passes := int(r.audits.passes.Load()); passes < hours-1 || passes > hours+2 || r.compared() < 1200*passes {
			t.Errorf("got %d passes over %d objects in %d hours", passes, r.compared(), hours)
		}
		if age := r.lane(t).Unaudited(); age > 90*time.Minute {
			t.Errorf("got a last pass %s ago", age)
		}
		if got := r.results(); len(got) != 1 || r.relisted.Load() != 0 {
			t.Errorf("%v, got %d relists", got, r.relisted.Load())
		}
		for _, q := range r.Requests(testkit.AskList)[filled:] {
			query := q.URL.Query()
			if query.Get("limit") != "500" || (query.Get("resourceVersionMatch") != "Exact") == (query.Get("continue") == "") {
				t.Fatalf("got a request for %s", q.URL)
			}
		}
	})
}

// TestAuditRelistsOnce checks that a confirmed difference causes a relist, but no further ones if that does not help.
func TestAuditRelistsOnce(t *testing.T) {
	auditing(t, 20, nil, func(t *testing.T, r *rig) {
		r.lying("value", "valve")
		r.untilRelisted(t)
		if got := r.results(); got[pageDoubtful] != 1 || got[pageDifferent] != 1 || r.kinds()[0] != "content" || len(r.kinds()) != 20 {
			t.Errorf("got results %v, differences %v", got, r.kinds())
		}
		if found := r.lane(t).Found(); found == nil || found.Objects != 20 || !found.Relisted || time.Since(found.At) > time.Second {
			t.Errorf("%+v", found)
		}
		r.Script(testkit.AskList, nil)
		elapse(time.Minute)
		if got := r.results(); got[pageSame] != 1 || r.relisted.Load() != 1 {
			t.Errorf("relisted: %v, got %d relists", got, r.relisted.Load())
		}
		// From now on every list differs from the watch.
		turn := 0
		r.Script(testkit.AskList, func(w http.ResponseWriter, q *http.Request) {
			turn++
			truth := httptest.NewRecorder()
			r.Truth(truth, q)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(bytes.ReplaceAll(truth.Body.Bytes(), []byte("value"), fmt.Appendf(nil, "v%04d", turn)))
		})
		passes := r.audits.passes.Load()
		hours := int64(settings.Amount(9, 72)) // more passes than relists
		elapse(time.Duration(hours) * time.Hour)
		if n, age := r.audits.passes.Load()-passes, r.lane(t).Unaudited(); n < hours*2/3 || age > 2*time.Hour {
			t.Errorf("got %d passes in %d hours, the last one %s ago", n, hours, age)
		}
		if n := r.audits.relisted.Load(); n < 3 || n > min(hours-2, 12) {
			t.Errorf("got %d relists in %d hours", n, hours)
		}
		if found := r.lane(t).Found(); found.Objects != 20 || time.Since(found.At) > 2*time.Hour {
			t.Errorf("%+v", found)
		}
		warnings := slices.DeleteFunc(r.logs.All(), func(e observer.LoggedEntry) bool {
			return !strings.Contains(e.Message, "Self-audit found an object")
		})
		if len(warnings) == 0 || !strings.Contains(fmt.Sprint(warnings[0].ContextMap()["difference"]), `its object differs at byte`) {
			t.Errorf("got %d warnings", len(warnings))
		}
	})
}

// TestAuditIgnoresUnconfirmedDifference checks that a difference that a second read does not confirm is not reported.
func TestAuditIgnoresUnconfirmedDifference(t *testing.T) {
	auditing(t, 20, nil, func(t *testing.T, r *rig) {
		r.lying("value", "valve")
		r.untilResult(t, pageDoubtful, 1)
		r.Script(testkit.AskList, nil)
		r.untilResult(t, pageSame, 1)
		if got := r.results(); got[pageDoubtful] != 1 || got[pageDifferent] != 0 || r.relisted.Load() != 0 {
			t.Errorf("%v", got)
		}
	})
}

// TestAuditPausesForOverloadedUpstream checks that an overloaded upstream is read less and less often. It is not read
// while memory is short or the upstream does not respond.
func TestAuditPausesForOverloadedUpstream(t *testing.T) {
	auditing(t, 2000, nil, func(t *testing.T, r *rig) {
		r.Script(testkit.AskList, testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests"))
		before := r.Asked(testkit.AskList)
		elapse(3 * time.Hour)
		if asked := r.Asked(testkit.AskList) - before; asked < 3 || asked > 9 {
			t.Errorf("got %d requests in three hours", asked)
		}
		if age := r.lane(t).Unaudited(); age < 3*time.Hour {
			t.Errorf("got a last pass %s ago, want none", age)
		}
		r.Script(testkit.AskList, nil)
		elapse(2 * time.Hour)
		if got := r.results(); got[pageSame] < 5 {
			t.Errorf("got results %v after that", got)
		}
		r.SetOffline(true)
		elapse(time.Minute)
		before = r.Asked(testkit.AskList)
		elapse(30 * time.Minute)
		if asked := r.Asked(testkit.AskList) - before; asked != 0 {
			t.Errorf("got %d requests while it is away", asked)
		}
		r.SetOffline(false)
	})
	memory := new(someMemory)
	memory.left.Store(1 << 40)
	auditing(t, 20, memory, func(t *testing.T, r *rig) {
		memory.left.Store(1 << 20)
		elapse(2 * time.Hour)
		if got := r.results(); len(got) != 0 {
			t.Errorf("got results %v without memory", got)
		}
	})
}

// lyingPages makes the upstream replace a text in the self-audit's first pages, and in no other response.
func (r *rig) lyingPages(text, instead string) {
	r.Script(testkit.AskList, func(w http.ResponseWriter, q *http.Request) {
		truth := httptest.NewRecorder()
		r.Truth(truth, q)
		body := truth.Body.Bytes()
		if q.URL.Query().Get("resourceVersionMatch") == "Exact" {
			body = bytes.ReplaceAll(body, []byte(text), []byte(instead))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
}

// TestAuditReportsUntilNothingDiffers checks that differences without a relist are reported until a pass finds none.
func TestAuditReportsUntilNothingDiffers(t *testing.T) {
	auditing(t, 20, nil, func(t *testing.T, r *rig) {
		r.lyingPages("value", "valve")
		until(t, time.Second, "the lane is not listed again for what differs", func() bool {
			found := r.lane(t).Found()
			return found != nil && !found.Relisted
		})
		if n := r.lane(t).Differing(); n != 20 {
			t.Errorf("got %d differing objects", n)
		}
		r.Script(testkit.AskList, nil)
		if elapse(3 * time.Hour); r.lane(t).Found() != nil || r.lane(t).Differing() != 0 {
			t.Errorf("%+v after %v", r.lane(t).Found(), r.results())
		}
	})
}

// TestAuditPassesIdleEvents checks that an idle lane of events is compared at a later version. It receives no versions
// by bookmarks, and the upstream forgets its own.
func TestAuditPassesIdleEvents(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, events, Config{SelfAudit: time.Hour})
		r.Put("ns/a", "value")
		lane := r.synced(t)
		compacted := r.Elsewhere()
		r.Script(testkit.AskList, func(w http.ResponseWriter, q *http.Request) {
			if at := q.URL.Query().Get("resourceVersion"); at != "" && at < fmt.Sprint(compacted) {
				testkit.Refuse(http.StatusGone, "Expired")(w, q)
				return
			}
			r.Truth(w, q)
		})
		elapse(3 * time.Hour)
		if n := r.audits.passes.Load(); n < 2 {
			t.Errorf("got %d passes in three intervals, want at least 2: %v", n, r.results())
		}
		if lane.Unaudited() > time.Hour+time.Minute || r.results()[pageDifferent] > 0 {
			t.Errorf("got a last pass %s ago and results %v", lane.Unaudited(), r.results())
		}
	})
}
