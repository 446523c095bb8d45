package reflector

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// definitionsOf lets the fake serve the definition of widgets, alone and in a list with a watch.
type definitionsOf struct {
	mu      sync.Mutex
	watches []chan string
}

// follow begins to serve the list and the watch.
func (r *rig) follow(now func() (uid string, generation int)) *definitionsOf {
	d := &definitionsOf{}
	r.Script(definitionsPath, func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Query().Get("watch") == "" {
			uid, generation := now()
			_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1"},"items":[{%s}]}`, meta(uid, generation))
			return
		}
		w.(http.Flusher).Flush()
		events := make(chan string, 8)
		d.mu.Lock()
		d.watches = append(d.watches, events)
		d.mu.Unlock()
		for {
			select {
			case event := <-events:
				_, _ = fmt.Fprintln(w, event)
				w.(http.Flusher).Flush()
			case <-request.Context().Done():
				return
			}
		}
	})
	elapse(followRefused)
	return d
}

// followRefused is after how long definitions are asked for again that could not be listed: the lanes may have asked
// before the fake served them.
const followRefused = 12 * time.Minute

// opened is how many watches were.
func (d *definitionsOf) opened() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.watches)
}

func meta(uid string, generation int) string {
	return fmt.Sprintf(`"metadata":{"name":"widgets.ex.io","uid":%q,"generation":%d,"resourceVersion":"%d"}`, uid, generation, 100+generation)
}

// tells sends an event on the last watch.
func (d *definitionsOf) tells(event, uid string, generation int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watches[len(d.watches)-1] <- fmt.Sprintf(`{"type":%q,"object":{%s}}`, event, meta(uid, generation))
}

// definedAs returns the definition of widgets with a version.
func definedAs(uid string, generation int, version, listKind string) http.HandlerFunc {
	return text(fmt.Sprintf(`{"metadata":{"name":"widgets.ex.io","uid":%q,"generation":%d,"resourceVersion":%q},`+
		`"status":{"acceptedNames":{"listKind":%q}},"spec":{"versions":[{"name":"v1"}]}}`, uid, generation, version, listKind))
}

// recent asks the lane for everything that was written before now.
func (r *rig) recent(t *testing.T, lane *Reflector) error {
	t.Helper()
	_, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless())
	return err
}

// No check succeeds after a definition changed, even if no watch has reported the change and the lane's watch is open.
func TestChangedDefinitionPreventsChecks(t *testing.T) {
	for name, c := range map[string]struct {
		now  http.HandlerFunc
		ends bool // the lane
		err  bool
	}{
		"the same":                       {definedAs("u1", 1, "7", "WidgetList"), false, false},
		"another spec":                   {definedAs("u1", 2, "8", "WidgetList"), true, true},
		"created again":                  {definedAs("u2", 1, "8", "WidgetList"), true, true},
		"another accepted name":          {definedAs("u1", 1, "8", "ListOfWidgets"), true, true},
		"another status":                 {definedAs("u1", 1, "8", "WidgetList"), false, false},
		"gone":                           {testkit.Refuse(http.StatusNotFound, "NotFound"), true, true},
		"not readable for now":           {testkit.Refuse(http.StatusInternalServerError, "InternalError"), false, true},
		"no longer readable":             {testkit.Refuse(http.StatusForbidden, "Forbidden"), false, true},
		"not a definition":               {text("<html>"), false, true},
		"without a version":              {text(`{"metadata":{"name":"widgets.ex.io"}}`), true, true},
		"the same again, after a change": {definedAs("u1", 1, "7", "WidgetList"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, widgets, func(t *testing.T, r *rig) {
				r.Script(crdPath, definedAs("u1", 1, "7", "WidgetList"))
				r.Put("ns/a", "1")
				lane := r.synced(t)
				if err := r.recent(t, lane); err != nil {
					t.Fatal(err)
				}
				r.Script(crdPath, c.now)
				if err := r.recent(t, lane); (err != nil) != c.err || err != nil && !errors.Is(err, fresh.ErrUnproven) {
					t.Errorf("got %v, want an error: %t", err, c.err)
				}
				if _, err := lane.Now(t.Context()); (err != nil) != c.err {
					t.Errorf("now: got %v, want an error: %t", err, c.err)
				}
				synctest.Wait()
				if failure := lane.Failure(); (failure != nil && failure.Gone()) != c.ends {
					t.Errorf("got failure %+v, want the end of the lane: %t", failure, c.ends)
				}
			})
		})
	}
}

// Requests go to the upstream if the definition cannot be confirmed, also those of readers that waited for the lane.
func TestUnreadableDefinitionPreventsChecks(t *testing.T) {
	inBubble(t, widgets, func(t *testing.T, r *rig) {
		r.Script(crdPath, testkit.Refuse(http.StatusForbidden, "Forbidden"))
		r.Put("ns/a", "1")
		arrived := time.Now()
		elapse(time.Second)
		lane := r.synced(t)
		asked := r.Asked(crdPath)
		for _, moment := range []time.Time{arrived, time.Now()} {
			if _, _, err := lane.Recent(t.Context(), moment, fresh.Endless()); !errors.Is(err, fresh.ErrUnproven) {
				t.Errorf("got %v, want %v", err, fresh.ErrUnproven)
			}
		}
		if n := r.Asked(crdPath) - asked; n != 0 {
			t.Errorf("got %d requests for the definition", n)
		}
	})
}

// Readers that wait at the same time share a request for the definition.
func TestDefinitionRequestsAreShared(t *testing.T) {
	inBubble(t, widgets, func(t *testing.T, r *rig) {
		r.Script(crdPath, definedAs("u1", 1, "7", "WidgetList"))
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.Script(crdPath, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Millisecond)
			definedAs("u1", 1, "7", "WidgetList")(w, request)
		})
		asked := r.Asked(crdPath)
		var readers sync.WaitGroup
		for range 1000 {
			readers.Go(func() {
				if err := r.recent(t, lane); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		if n := r.Asked(crdPath) - asked; n < 1 || n > 3 {
			t.Errorf("got %d requests for 1000 readers", n)
		}
	})
}

// The watch of definitions ends an unread lane whose own watch is open. The next lane is not listed before the upstream
// is sure to serve the new representation.
func TestLaneEndsWhenItsDefinitionChanges(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, widgets, Config{})
		r.Script(crdPath, definedAs("u1", 1, "101", "WidgetList"))
		definitions := r.follow(func() (string, int) { return "u1", 1 })
		r.Put("ns/a", "before")
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		elapse(time.Minute)
		definitions.tells("MODIFIED", "u1", 1)
		synctest.Wait()
		if failure := lane.Failure(); failure != nil {
			t.Fatalf("got failure %v after an irrelevant change, want none", failure.Err)
		}
		r.Script(crdPath, definedAs("u1", 2, "102", "WidgetList"))
		definitions.tells("MODIFIED", "u1", 2)
		synctest.Wait()
		if failure := lane.Failure(); failure == nil || !failure.Gone() {
			t.Fatalf("got failure %+v", failure)
		}
		if watcher.Next(); watcher.Err() == nil {
			t.Error("the watch did not end")
		}
		again := r.lane(t)
		synctest.Wait()
		if again == lane || !again.Settling() {
			t.Fatal("got a next lane that does not wait, want Settling")
		}
		elapse(definitionSettles / 2)
		r.Rewrite(func(text string) string { return strings.Replace(text, "before", "after", 1) })
		again = r.synced(t)
		if again.Settling() || !strings.Contains(shown(t, again, "ns/a"), "after") {
			t.Errorf("got settling %t and object %s", again.Settling(), shown(t, again, "ns/a"))
		}
		if err := r.recent(t, again); err != nil {
			t.Error(err)
		}
		r.Script(crdPath, testkit.Refuse(http.StatusNotFound, "NotFound"))
		watcher = watchAll(t, again)
		definitions.tells("DELETED", "u1", 2)
		synctest.Wait()
		r.Delete("ns/a") // its event is in transit
		synctest.Wait()
		if event, ok := watcher.Next(); !ok || event.Type != cache.Deleted {
			t.Errorf("got the event %v, %t; want the last deletion", event, ok)
		}
		elapse(lastDeletions)
		if failure := again.Failure(); failure == nil || !failure.Gone() {
			t.Errorf("after the deletion of the definition: got failure %+v", failure)
		}
	})
}

// The list after a watch has ended shows changes made meanwhile. A definition that is seen for the first time need not
// settle.
func TestDefinitionsAreListedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, widgets, Config{})
		generation := 1
		r.Script(crdPath, definedAs("u1", 1, "101", "WidgetList"))
		definitions := r.follow(func() (string, int) { return "u1", generation })
		lane := r.synced(t)
		before := definitions.opened()
		generation = 2
		r.Script(crdPath, definedAs("u1", 2, "102", "WidgetList"))
		elapse(followSilent)
		if failure := lane.Failure(); failure == nil || !failure.Gone() {
			t.Fatalf("got failure %+v", failure)
		}
		if now := definitions.opened(); now <= before {
			t.Errorf("got %d watches, and %d before the change; want more", now, before)
		}
	})
}

// followSilent is after how long a watch that brings nothing has been replaced.
const followSilent = 4 * time.Minute

// A definition that is deleted and created again settles like one that changes, whether the watch or a list shows it.
func TestDefinitionMadeAgainSettles(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, widgets, Config{})
		r.Script(crdPath, definedAs("u1", 1, "101", "WidgetList"))
		definitions := r.follow(func() (string, int) { return "u1", 1 })
		r.Put("ns/a", "old")
		r.synced(t)
		elapse(time.Minute)
		r.Script(crdPath, testkit.Refuse(http.StatusNotFound, "NotFound"))
		definitions.tells("DELETED", "u1", 1)
		synctest.Wait()
		r.Script(crdPath, definedAs("u2", 1, "102", "WidgetList"))
		definitions.tells("ADDED", "u2", 1)
		elapse(lastDeletions)
		lane := r.lane(t)
		synctest.Wait()
		if !lane.Settling() {
			t.Error("got a lane that is listed immediately, want one that waits")
		}
		elapse(definitionSettles / 2)
		r.Rewrite(func(text string) string { return strings.Replace(text, "old", "new", 1) })
		if got := shown(t, r.synced(t), "ns/a"); !strings.Contains(got, "new") {
			t.Errorf("got %s, want the new representation", got)
		}
	})
}

// Names of deleted definitions are forgotten with the next list.
func TestDeletedDefinitionsAreForgotten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var deleted []string
		d := newDefinitions(nil, func(now definitionMeta) {
			if now.UID == "" {
				deleted = append(deleted, now.Name)
			}
		}, zap.NewNop())
		objects := []json.RawMessage{json.RawMessage("{" + meta("u1", 1) + "}")}
		_ = d.listed(objects)
		if left := d.unsettled("widgets.ex.io"); left > 0 {
			t.Errorf("got %s for a definition of the first list, want none", left)
		}
		_ = d.listed(nil)
		d.note("widgets.ex.io", "u2", 1)
		if left := d.unsettled("widgets.ex.io"); left != definitionSettles {
			t.Errorf("got %s for a definition created again between two lists, want %s", left, definitionSettles)
		}
		d.receives("DELETED", objects[0])
		elapse(definitionSettles + time.Millisecond)
		_ = d.listed(nil)
		if len(d.known) > 0 || len(deleted) != 2 {
			t.Errorf("got %v and the deletions %q, want nothing and two", d.known, deleted)
		}
	})
}
