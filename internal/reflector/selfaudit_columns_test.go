package reflector

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// TestAuditRelistsForColumnsOnce checks that different columns cause a relist after a second read, but no further ones
// if that does not help. Objects are compared anyway.
func TestAuditRelistsForColumnsOnce(t *testing.T) {
	const heading = `"name":"Heading"`
	title := strings.ReplaceAll(testkit.DefaultColumns, `"name":"Name"`, `"name":"Title"`)
	auditing(t, 20, nil, func(t *testing.T, r *rig) {
		r.SetColumns(title)
		r.untilRelisted(t)
		if got := r.results(); got[pageDoubtful] != 1 || got[pageDifferent] != 1 || len(r.kinds()) != 0 {
			t.Errorf("got results %v, differences %v", got, r.kinds())
		}
		elapse(time.Minute)
		if got := r.results(); got[pageSame] != 1 || r.relisted.Load() != 1 || !stateOf(t, r.lane(t)).Shape().Reprinted([]byte(testkit.DefaultColumns)) {
			t.Errorf("relisted: %v, got %d relists", got, r.relisted.Load())
		}
		// From now on pages have other columns than the lane's list, as with two servers that alternate.
		r.Script(testkit.AskList, func(w http.ResponseWriter, q *http.Request) {
			truth := httptest.NewRecorder()
			r.Truth(truth, q)
			body := truth.Body.Bytes()
			if q.URL.Query().Get("resourceVersionMatch") == "Exact" {
				body = bytes.Replace(body, []byte(`"name":"Title"`), []byte(heading), 1)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		})
		compared, passes := r.compared(), r.audits.passes.Load()
		hours := settings.Amount(9, 24)
		elapse(time.Duration(hours) * time.Hour)
		if n := r.audits.relisted.Load(); n < 3 || n > int64(min(hours-2, 9)) || r.relisted.Load() != n {
			t.Errorf("got %d relists in %d hours, %d for the self-audit", r.relisted.Load(), hours, n)
		}
		if n := int(r.audits.passes.Load() - passes); n < hours*3/4 || r.compared()-compared < 20*n {
			t.Errorf("got %d passes over %d objects in %d hours", n, r.compared()-compared, hours)
		}
		r.Script(testkit.AskList, nil)
		before := r.audits.relisted.Load()
		elapse(time.Duration(settings.Amount(4, 24)) * time.Hour)
		if n := r.audits.relisted.Load(); n != before || r.results()[pageFailed] != 0 {
			t.Errorf("got %d relists when all print the same, %v", n-before, r.results())
		}
	})
}

// TestAuditRelistsForObjectsDespiteColumns checks that a relist for columns does not prevent one for objects.
func TestAuditRelistsForObjectsDespiteColumns(t *testing.T) {
	const heading = `"name":"Heading"`
	auditing(t, 20, nil, func(t *testing.T, r *rig) {
		r.lyingPages(`"name":"Name"`, heading)
		elapse(5 * time.Hour)
		relisted := r.audits.relisted.Load()
		if relisted < 2 || len(r.kinds()) != 0 {
			t.Fatalf("got %d relists for columns, %v", relisted, r.kinds())
		}
		// From now on pages have both differences. A relist for columns is not due soon.
		until(t, time.Second, "the lane is listed again for columns", func() bool { return r.audits.relisted.Load() > relisted })
		elapse(time.Minute)
		relisted = r.audits.relisted.Load()
		r.lyingPages("value", "valve")
		until(t, time.Second, "objects differ", func() bool { return len(r.kinds()) > 0 })
		if n := r.audits.relisted.Load() - relisted; n != 1 || !r.lane(t).Found().Relisted {
			t.Errorf("got %d relists for objects, %+v", n, r.lane(t).Found())
		}
	})
}

// TestAuditDoubtsColumnsSeparately checks that columns need a second read of their own, even if objects of the page
// differed before.
func TestAuditDoubtsColumnsSeparately(t *testing.T) {
	auditing(t, 20, nil, func(t *testing.T, r *rig) {
		r.lyingPages("value", "valve")
		r.untilResult(t, pageDoubtful, 1)
		r.lyingPages(`"name":"Name"`, `"name":"Heading"`)
		until(t, time.Second, "the page is looked at again", func() bool { return len(r.results()) > 1 || r.results()[pageDoubtful] > 1 })
		if got := r.results(); got[pageDoubtful] != 2 || got[pageDifferent] != 0 {
			t.Errorf("%v", got)
		}
		r.untilResult(t, pageDifferent, 1)
		if got := r.results(); got[pageDoubtful] != 2 || got[pageDifferent] != 1 || r.audits.relisted.Load() != 1 {
			t.Errorf("%v, got %d relists", got, r.audits.relisted.Load())
		}
	})
}

// TestAuditOfColumnsIsOfOneList checks that findings about an earlier list's columns do not apply to the current list.
func TestAuditOfColumnsIsOfOneList(t *testing.T) {
	auditing(t, 20, nil, func(t *testing.T, r *rig) {
		lane, over := r.lane(t), &listWatch{}
		a, c := &auditor{lanes: r.lanes, interval: time.Hour}, &course{columns: brake{relisted: time.Now(), pause: time.Hour}}
		for range 3 {
			a.reprints(t.Context(), lane, c, &auditPage{by: over})
		}
		if got := r.results(); got[pageUnsure] != 3 || len(got) != 1 || c.columnsDiffered != 0 {
			t.Errorf("got results %v, columns seen %d times", got, c.columnsDiffered)
		}
		c.reprinted = over
		if !c.readsNoRows(over) || c.readsNoRows(lane.synced.Load()) {
			t.Error("got rows of the list with other columns, or none of the next one")
		}
	})
}
