package identities

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Callers share caches, cached answers and reviews. Sharing must not show a caller an object that it may not read.

// A continue token of an allowed list works there, and gives no right to other lists.
func TestContinueTokenGrantsNoRights(t *testing.T) {
	w, f := newFacade(t)
	o := w.as(t, f, "nadia")
	saw := watches(o.Facade)
	for _, asker := range []*testkit.Asker{o.Upstream, o.Facade} {
		var page struct{ Metadata struct{ Continue string } }
		if err := json.Unmarshal(asker.MustAsk(t, testkit.Question{Path: inFirstNamespace + "?limit=1"}).Body, &page); err != nil {
			t.Fatal(err)
		}
		token := page.Metadata.Continue
		if token == "" {
			t.Fatal("there is one page")
		}
		query := "limit=500&continue=" + url.QueryEscape(token)
		get(t, o, http.StatusOK, inFirstNamespace+"?"+query)
		get(t, o, http.StatusForbidden, "/api/v1/namespaces/oracle-b/configmaps?"+query)
		get(t, o, http.StatusForbidden, "/api/v1/configmaps?"+query)
		for _, path := range []string{
			"/api/v1/namespaces/oracle/pods?" + query, "/apis/ex.io/v1/namespaces/oracle/widgets?" + query,
			inFirstNamespace + "?labelSelector=oracle%3Dtwo&" + query, inFirstNamespace + "?fieldSelector=metadata.name%3Dcanary&" + query,
			inFirstNamespace + "?limit=500&continue=" + url.QueryEscape(token[:len(token)/2]),
			inFirstNamespace + "?limit=500&continue=x" + url.QueryEscape(token),
			inFirstNamespace + "?limit=500&continue=" + url.QueryEscape("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vb3JhY2xlLWIvY2FuYXJ5In0"),
		} {
			o.Compare(t, testkit.Question{Path: path})
		}
	}
	saw.saw(t, "the facade", []string{inFirst, inNamed})
}

// A caller without the right to list is refused even if another caller has just received that answer, in every
// representation.
func TestCachedAnswersAreAuthorizedForEachCaller(t *testing.T) {
	w, f := newFacade(t)
	warm, o := w.as(t, f, "admin"), w.as(t, f, "nadia")
	saw := watches(o.Facade)
	const path = "/api/v1/namespaces/oracle-b/configmaps"
	for _, accept := range []string{
		suite.AcceptJSON, suite.AcceptTable, suite.AcceptPartial, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf", "application/yaml",
	} {
		for _, encoding := range []string{"identity", "gzip"} {
			for _, query := range []string{"", "?resourceVersion=0", "?limit=500", "?includeObject=Object"} {
				q := testkit.Question{Path: path + query, Header: http.Header{"Accept": {accept}, "Accept-Encoding": {encoding}}}
				before := warm.Compare(t, q)
				compare(t, o, http.StatusForbidden, q)
				if after := warm.Compare(t, q); before.Code != after.Code {
					t.Errorf("%s: admin is answered %d, then %d", q, before.Code, after.Code)
				}
			}
		}
	}
	saw.saw(t, "the facade", nil)
}

// Many callers send the first request for a resource at the same time. Each receives what it may read, and the facade
// sends one review per caller.
func TestConcurrentCallersReceiveOnlyTheirOwnAnswers(t *testing.T) {
	w := newWorld(t)
	way := newRoad(t, w)
	f := suite.LaunchDelegating(t, way.kubeconfig, func(c *facade.Config) { // a busy machine may take long
		c.Authorization.AllowedTTL, c.Authorization.DeniedTTL = time.Hour, time.Hour
	})
	f.AwaitReady(t)
	way.since()
	const path = "/api/v1/namespaces/oracle-b/configmaps"
	var late atomic.Int64 // reviews that a busy machine did not answer in time; the facade repeats them
	var asking sync.WaitGroup
	for name, code := range map[string]int{"nadia": http.StatusForbidden, "admin": http.StatusOK} {
		asker := w.as(t, f, name).Facade
		for range 100 {
			asking.Go(func() {
				answer, err := asker.Ask(t.Context(), testkit.Question{Path: path})
				for err == nil && answer.Code == http.StatusServiceUnavailable {
					late.Add(1)
					answer, err = asker.Ask(t.Context(), testkit.Question{Path: path})
				}
				if err != nil {
					t.Error(err)
				} else if answer.Code != code || strings.Contains(string(answer.Body), inSecond) != (code == http.StatusOK) {
					t.Errorf("%s: %d %s", name, answer.Code, head(answer.Body))
				}
			})
		}
	}
	asking.Wait()
	all := way.since()
	for _, name := range []string{"nadia", "admin"} {
		if specs := reviewed(t, all, name); len(specs) != 1 && late.Load() == 0 {
			t.Errorf("%s: %d reviews, want 1", name, len(specs))
		}
	}
}

// When an object stops matching a selector, the watch sends its last matching content.
func TestEventOfUnselectedObjectHasItsOldContent(t *testing.T) {
	w, f := newFacade(t)
	s := suite.NewFixture(t, w.Cluster)
	o := w.as(t, f, "reader")
	s.Put(t, suite.ConfigMaps, "moves", "team=ours", "1")
	path := suite.Collection(suite.ConfigMaps, s.Namespace)
	pair := suite.WatchBoth(t, o, testkit.Question{Path: path + "?watch=1&labelSelector=team%3Dours&resourceVersion=0"})
	last := s.Patch(t, suite.ConfigMaps, "moves", `{"metadata":{"labels":{"team":"theirs"},"annotations":{"note":"leak"}}}`)
	pair.Same(t, last)
	told := pair.Facade.Until(t, "the object is gone", func(r *testkit.Recording) bool { return r.Notified() >= 2 })
	for _, frame := range told.Frames {
		if strings.Contains(string(frame.Line), "leak") {
			t.Errorf("the event has content that is no longer selected: %s", frame.Line)
		}
	}
}
