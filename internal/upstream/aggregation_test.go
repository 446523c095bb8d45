package upstream

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
)

// aggregator serves APIServices that change, as a list and as a watch.
type aggregator struct {
	items  []string
	events chan string
	asked  int // requests for the list
}

func newAggregator(r *rig, items ...string) *aggregator {
	a := &aggregator{items: items, events: make(chan string)}
	r.Script(askServices, func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Query().Get("watch") == "" {
			a.asked++
			jsonText(`{"kind":"APIServiceList","metadata":{"resourceVersion":"1"},"items":[`+strings.Join(a.items, ",")+`]}`)(w, request)
			return
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case event := <-a.events:
				_, _ = fmt.Fprintln(w, event)
				w.(http.Flusher).Flush()
			case <-request.Context().Done():
				return
			}
		}
	})
	return a
}

func local(group string) string { return fmt.Sprintf(`{"spec":{"group":%q,"version":"v1"}}`, group) }

func remote(group string) string {
	return fmt.Sprintf(`{"spec":{"group":%q,"version":"v1","service":{"name":"x"}}}`, group)
}

func (a *aggregator) tells(event, object string) {
	a.events <- fmt.Sprintf(`{"type":%q,"object":%s}`, event, object)
	synctest.Wait()
}

// A group version may be given to another server at any time, and returned.
func TestCatalogFollowsAPIServices(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		a := newAggregator(r, local(""), local("ex.io"), local("late.io"))
		serve(r, "ex.io", "late.io")
		c := newCatalog(t, r)
		var foreign func(schema.GroupVersion) bool
		go c.Follow(t.Context(), func(f func(schema.GroupVersion) bool) { foreign = f }, func(error) {})
		synctest.Wait()
		check := func(moment string, want bool) {
			t.Helper()
			elapse(catalogMinAge)
			gv := things("ex.io").GroupVersion()
			got, ok := lookup(t, c, things("ex.io"))
			if !ok || got.Cacheable != want || c.Own(t.Context(), gv) != want || foreign(gv) == want {
				t.Errorf("%s: known %t, cacheable %t, own %t, foreign %t, want %t", moment, ok, got.Cacheable, c.Own(t.Context(), gv), foreign(gv), want)
			}
		}
		check("at first", true)
		asked := a.asked
		a.tells("MODIFIED", remote("ex.io"))
		check("it has a server", false)
		a.tells("MODIFIED", local("ex.io"))
		check("it has none", true)
		a.tells("DELETED", local("ex.io"))
		check("it is not there", false)
		a.tells("ADDED", local("ex.io"))
		check("it is there", true)
		if a.asked != asked {
			t.Errorf("got %d lists of APIServices while they are followed, want none", a.asked-asked)
		}
		if late, ok := lookup(t, c, things("late.io")); !ok || !late.Cacheable {
			t.Error("a group without a change was dropped")
		}
	})
}

// A read of discovery in progress uses a change that arrives meanwhile.
func TestDiscoveryInProgressUsesTheChange(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		a := newAggregator(r, local(""), local("ex.io"))
		serve(r, "ex.io")
		c := newCatalog(t, r)
		go c.Follow(t.Context(), func(func(schema.GroupVersion) bool) {}, func(error) {})
		synctest.Wait()
		release := make(chan struct{})
		r.Script("/apis/ex.io/v1", func(w http.ResponseWriter, request *http.Request) {
			<-release
			jsonText(`{"kind":"APIResourceList","groupVersion":"ex.io/v1","resources":[{"name":"things","kind":"Thing","verbs":["list","watch"]}]}`)(w, request)
		})
		done := make(chan error, 1)
		go func() { done <- c.Refresh(t.Context()) }()
		synctest.Wait()
		a.tells("MODIFIED", remote("ex.io"))
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got, ok := lookup(t, c, things("ex.io")); !ok || got.Cacheable {
			t.Errorf("known %t, cacheable %t", ok, got.Cacheable)
		}
	})
}

// While APIServices cannot be followed the catalog lists them itself.
func TestCatalogWithoutAWatchOfAPIServices(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		c := newCatalog(t, r)
		serve(r, "ex.io")
		truth := localServices("", "ex.io")
		r.Script(askServices, func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Query().Get("watch") != "" {
				testkit.Refuse(http.StatusForbidden, "Forbidden")(w, request)
				return
			}
			truth(w, request)
		})
		var failures []error
		go c.Follow(t.Context(), func(func(schema.GroupVersion) bool) {}, func(err error) { failures = append(failures, err) })
		elapse(time.Second)
		asked := r.Asked(askServices)
		if err := c.Refresh(t.Context()); err != nil || r.Asked(askServices) != asked+1 {
			t.Errorf("got %v and %d requests, want one", err, r.Asked(askServices)-asked)
		}
		if got, ok := lookup(t, c, things("ex.io")); !ok || !got.Cacheable {
			t.Errorf("known %t, cacheable %t", ok, got.Cacheable)
		}
		if !slices.ContainsFunc(failures, func(err error) bool { return HasCode(err, http.StatusForbidden) }) {
			t.Errorf("got failures %v, want one", failures)
		}
	})
}

// A list with an unreadable APIService is not followed by a watch. It is read again and reported as a failure until it
// is readable.
func TestAPIServiceThatCannotBeRead(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		newAggregator(r, local(""), `{"spec":{"group":1}}`)
		serve(r, "ex.io")
		c := newCatalog(t, r)
		var failures []error
		go c.Follow(t.Context(), func(func(schema.GroupVersion) bool) {}, func(err error) { failures = append(failures, err) })
		elapse(time.Minute)
		if slices.Contains(failures, nil) || len(failures) == 0 {
			t.Errorf("got the failures %v, want some", failures)
		}
		a := newAggregator(r, local(""), local("ex.io"))
		elapse(2 * time.Minute)
		if failures[len(failures)-1] != nil {
			t.Errorf("got %v, want none at last", failures[len(failures)-1])
		}
		a.tells("DELETED", local("ex.io"))
		if c.Own(t.Context(), things("ex.io").GroupVersion()) {
			t.Error("got ex.io as the upstream's own, want it gone")
		}
	})
}
