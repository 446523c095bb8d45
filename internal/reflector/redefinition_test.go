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

// definedAs is the definition of widgets, of a version of its own.
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

// No watch has told of the new definition yet, and no watch of the lane has ended.
func TestNoProofOutlivesTheDefinition(t *testing.T) {
	for name, c := range map[string]struct {
		now  http.HandlerFunc
		ends bool // the lane
		err  bool
	}{
		"the same":                       {definedAs("u1", 1, "7", "WidgetList"), false, false},
		"another spec":                   {definedAs("u1", 2, "8", "WidgetList"), true, true},
		"made anew":                      {definedAs("u2", 1, "8", "WidgetList"), true, true},
		"accepted by another name":       {definedAs("u1", 1, "8", "ListOfWidgets"), true, true},
		"another status":                 {definedAs("u1", 1, "8", "WidgetList"), false, false},
		"gone":                           {testkit.Refuse(http.StatusNotFound, "NotFound"), true, true},
		"not to be read for now":         {testkit.Refuse(http.StatusInternalServerError, "InternalError"), false, true},
		"no longer to be read":           {testkit.Refuse(http.StatusForbidden, "Forbidden"), false, true},
		"told by what is no definition":  {text("<html>"), false, true},
		"told by what has no version":    {text(`{"metadata":{"name":"widgets.ex.io"}}`), true, true},
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
					t.Errorf("the failure is %+v, want the lane's end: %t", failure, c.ends)
				}
			})
		})
	}
}

// What is not known to be defined as it was is the upstream's to answer, also for readers who have waited for the
// lane.
func TestNothingIsProvenWithoutDefinition(t *testing.T) {
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
			t.Errorf("the definition was asked for %d times", n)
		}
	})
}

// Readers who wait at the same time share the question.
func TestDefinitionQuestionsAreShared(t *testing.T) {
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
			t.Errorf("1000 readers cost %d questions", n)
		}
	})
}

// The watch on definitions ends a lane that nobody reads, and whose own watch goes on; the next is not listed before
// the upstream is sure to know the new form.
func TestLaneEndsWhenItsDefinitionChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
			t.Fatalf("it ends because of a change that is none: %v", failure.Err)
		}
		r.Script(crdPath, definedAs("u1", 2, "102", "WidgetList"))
		definitions.tells("MODIFIED", "u1", 2)
		synctest.Wait()
		if failure := lane.Failure(); failure == nil || !failure.Gone() {
			t.Fatalf("the failure is %+v", failure)
		}
		if watcher.Next(); watcher.Err() == nil {
			t.Error("the watch goes on")
		}
		again := r.lane(t)
		synctest.Wait()
		if again == lane || !again.Settling() {
			t.Fatal("the next lane does not wait")
		}
		elapse(definitionSettles / 2)
		r.Rewrite(func(text string) string { return strings.Replace(text, "before", "after", 1) })
		again = r.synced(t)
		if again.Settling() || !strings.Contains(shown(t, again, "ns/a"), "after") {
			t.Errorf("settling: %t; the lane shows %s", again.Settling(), shown(t, again, "ns/a"))
		}
		if err := r.recent(t, again); err != nil {
			t.Error(err)
		}
		r.Script(crdPath, testkit.Refuse(http.StatusNotFound, "NotFound"))
		watcher = watchAll(t, again)
		definitions.tells("DELETED", "u1", 2)
		synctest.Wait()
		r.Delete("ns/a") // its event was on its way
		synctest.Wait()
		if event, ok := watcher.Next(); !ok || event.Type != cache.Deleted {
			t.Errorf("got the event %v, %t; want the last deletion", event, ok)
		}
		elapse(lastDeletions)
		if failure := again.Failure(); failure == nil || !failure.Gone() {
			t.Errorf("the definition is deleted: the failure is %+v", failure)
		}
	})
}

// A list that is read when a watch has ended tells of what has changed meanwhile, and what was never there before
// need not settle.
func TestDefinitionsAreListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
			t.Fatalf("the failure is %+v", failure)
		}
		if now := definitions.opened(); now <= before {
			t.Errorf("got %d watches, and %d before the change; want more", now, before)
		}
	})
}

// followSilent is after how long a watch that brings nothing has been replaced.
const followSilent = 4 * time.Minute

// A definition that is deleted and made again settles as one that changes, whether the watch tells or a list.
func TestDefinitionMadeAgainSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
			t.Error("got a lane that is listed at once, want one that waits")
		}
		elapse(definitionSettles / 2)
		r.Rewrite(func(text string) string { return strings.Replace(text, "old", "new", 1) })
		if got := shown(t, r.synced(t), "ns/a"); !strings.Contains(got, "new") {
			t.Errorf("got %s, want the new form", got)
		}
	})
}

// Names of deleted definitions are forgotten with the next list.
func TestDeletedDefinitionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone []string
		d := newDefinitions(nil, func(now definitionMeta) {
			if now.UID == "" {
				gone = append(gone, now.Name)
			}
		}, zap.NewNop())
		there := []json.RawMessage{json.RawMessage("{" + meta("u1", 1) + "}")}
		_ = d.listed(there)
		if left := d.unsettled("widgets.ex.io"); left > 0 {
			t.Errorf("got %s for a definition that was there at first, want none", left)
		}
		_ = d.listed(nil)
		d.note("widgets.ex.io", "u2", 1)
		if left := d.unsettled("widgets.ex.io"); left != definitionSettles {
			t.Errorf("got %s for a definition that was made again between two lists, want %s", left, definitionSettles)
		}
		d.receives("DELETED", there[0])
		elapse(definitionSettles + time.Millisecond)
		_ = d.listed(nil)
		if len(d.known) > 0 || len(gone) != 2 {
			t.Errorf("got %v and the deletions %q, want nothing and two", d.known, gone)
		}
	})
}
