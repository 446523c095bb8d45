package reflector

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// tables is how a lane asks at first.
var tables = jsonwire.Encoding{}.RequestFormats()[0].Accept

// textOf is an object's body.
func textOf(t *testing.T, lane *Reflector, object *cache.Object) string {
	return string(stateOf(t, lane).Shape().AppendObject(nil, wire.Representation{}, object.Item(), time.Now()))
}

func TestStreamingList(t *testing.T) {
	for _, kind := range []testkit.FakeKind{configMaps, widgets, nodes} {
		t.Run(kind.Kind, func(t *testing.T) {
			inBubble(t, kind, func(t *testing.T, r *rig) {
				prefix := ""
				if kind.Namespaced {
					prefix = "ns/"
				}
				r.Put(prefix+"b", "1")
				r.Put(prefix+"a", "1")
				lane := r.synced(t)
				r.Put(prefix+"a", "2")
				r.Delete(prefix + "b")
				r.Bookmark()
				synctest.Wait()
				if diff := cmp.Diff([]string{prefix + "a@4"}, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				state := stateOf(t, lane)
				if state.RV() != 6 {
					t.Errorf("got version %d, want the bookmark's 6", state.RV())
				}
				shape := state.Shape()
				head := string(shape.List(wire.Representation{Kind: wire.Listed}, time.Now()).AppendHead(nil, wire.ListMeta{}, wire.Empty)) +
					string(shape.List(wire.Representation{Kind: wire.Listed}, time.Now()).AppendTail(nil, wire.ListMeta{}, wire.Empty))
				if strings.HasPrefix(head, `{"apiVersion"`) != kind.Custom || !strings.Contains(head, `"kind":"`+kind.Kind+`List"`) || !shape.Prints() {
					t.Errorf("got shape %+v", shape)
				}
				if n := r.Asked(testkit.AskStreaming) + r.Asked(testkit.AskWatch) + r.Asked(testkit.AskList); n != 1 {
					t.Errorf("got %d lists and watches, want one streaming list", n)
				}
			})
		})
	}
}

// A server without streaming lists, or with the feature gate off, responds with 400 or 422.
func TestRefusedStreamingListIsPaged(t *testing.T) {
	for _, code := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				for i := range 2*pageObjects + 1 {
					r.Put(fmt.Sprintf("ns/%04d", i), "1")
				}
				r.Script(testkit.AskStreaming, testkit.Refuse(code, "Invalid"))
				lane := r.synced(t)
				if n := stateOf(t, lane).Len(); n != 2*pageObjects+1 {
					t.Errorf("got %d objects", n)
				}
				pages := r.Requests(testkit.AskList)
				if len(pages) != 3 || pages[1].URL.Query().Get("continue") != "500" || pages[1].URL.Query().Get("limit") != "500" {
					t.Errorf("got %d pages", len(pages))
				}
				if pages[0].URL.Query().Get("includeObject") != "Object" || pages[0].Header.Get("Accept") != tables {
					t.Error("got pages that are not Tables with complete objects")
				}
				r.Put("ns/new", "1")
				synctest.Wait()
				if _, ok := stateOf(t, lane).Get("ns/new"); !ok {
					t.Error("the watch does not continue from the list")
				}
				if lane.Bookmark() == nil {
					t.Error("got no bookmark")
				}
				if n := r.Asked(testkit.AskStreaming); n != 1 {
					t.Errorf("got %d requests for the refused list", n)
				}
			})
		})
	}
}

// A server without Tables of the resource responds with 406. Its plain lists and watches have the same objects.
func TestRefusedTableIsListedPlain(t *testing.T) {
	for _, streaming := range []string{"streaming", "pages"} {
		for _, kind := range []testkit.FakeKind{configMaps, widgets} {
			t.Run(kind.Kind+" "+streaming, func(t *testing.T) {
				inBubble(t, kind, func(t *testing.T, r *rig) {
					r.Put("ns/a", "1")
					if streaming == "pages" {
						r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "BadRequest"))
					}
					noTable(r, testkit.AskStreaming, testkit.AskList)
					lane := r.synced(t)
					r.Put("ns/b", "1")
					synctest.Wait()
					if diff := cmp.Diff([]string{"ns/a@2", "ns/b@3"}, contents(t, lane)); diff != "" {
						t.Error(diff)
					}
					object, _ := stateOf(t, lane).Get("ns/a")
					if got, want := textOf(t, lane, object), r.ObjectText("ns/a", 2, "1")+"\n"; got != want {
						t.Errorf("got object %s, want %s", got, want)
					}
					if stateOf(t, lane).Shape().Prints() {
						t.Error("got columns, want none")
					}
				})
			})
		}
	}
}

// noTable refuses Tables where nothing else is scripted.
func noTable(r *rig, asks ...testkit.Ask) {
	for _, ask := range asks {
		if ask == testkit.AskStreaming && r.Scripted(ask) {
			continue
		}
		r.Script(ask, func(w http.ResponseWriter, request *http.Request) {
			if request.Header.Get("Accept") == tables {
				testkit.Refuse(http.StatusNotAcceptable, "NotAcceptable")(w, request)
				return
			}
			r.Truth(w, request)
		})
	}
}

// A server that does not support sendInitialEvents opens a plain watch: it sends synthetic ADDED events but no final
// bookmark. Other objects keep changing, so silence alone does not show it.
func TestIgnoredStreamingListIsPaged(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		r.Script(testkit.AskStreaming, func(w http.ResponseWriter, request *http.Request) {
			_, _ = io.WriteString(w, r.FrameText("ADDED", r.ObjectText("ns/a", 2, "1"), 2, testkit.DefaultColumns))
			_, _ = io.WriteString(w, r.FrameText("ADDED", r.ObjectText("ns/b", 3, "1"), 3, "null"))
			for rv := r.RV() + 1; ; rv++ {
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(time.Second):
				case <-request.Context().Done():
					return
				}
				_, _ = io.WriteString(w, r.FrameText("MODIFIED", r.ObjectText("ns/b", r.Put("ns/b", "2"), "2"), rv, "null"))
			}
		})
		began := time.Now()
		lane := r.synced(t)
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it got a relist after %s", took)
		}
		if got := contents(t, lane); len(got) != 2 {
			t.Errorf("got objects %v", got)
		}
		if r.Asked(testkit.AskList) != 1 {
			t.Error("the lane was not listed page by page")
		}
		r.Put("ns/c", "1")
		synctest.Wait()
		if _, ok := stateOf(t, lane).Get("ns/c"); !ok {
			t.Error("the watch does not continue from the list")
		}
	})
}

// A stream that ends before its initial events do is discarded.
func TestBrokenStreamingListIsDiscarded(t *testing.T) {
	for name, end := range map[string]func(http.ResponseWriter){
		"clean end": func(http.ResponseWriter) {},
		"cut off":   func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				r.Put("ns/b", "1")
				r.Script(testkit.AskStreaming, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, r.FrameText("ADDED", r.ObjectText("ns/a", 2, "1"), 2, testkit.DefaultColumns))
					_ = http.NewResponseController(w).Flush()
					end(w)
				})
				lane := r.lane(t)
				elapse(time.Second)
				if _, err := lane.Cache.State(); err == nil {
					t.Fatalf("got objects %v of an incomplete list", contents(t, lane))
				}
				r.Script(testkit.AskStreaming, nil)
				elapse(time.Minute)
				if got := contents(t, lane); len(got) != 2 {
					t.Errorf("got objects %v", got)
				}
			})
		})
	}
}

// Inconsistent pages and invalid lists are errors.
func TestInvalidListIsRefused(t *testing.T) {
	page := func(rv int, next string, objects string) string {
		return fmt.Sprintf(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`, rv, next, objects)
	}
	object := func(key string, rv uint64) string {
		return (&testkit.FakeUpstream{FakeKind: configMaps}).ObjectText(key, rv, "1")
	}
	for name, pages := range map[string][]string{
		"of different resourceVersions":     {page(5, "x", object("ns/a", 2)), page(6, "", object("ns/b", 6))},
		"an object newer than the list":     {page(5, "", object("ns/a", 6))},
		"an object twice":                   {page(5, "x", object("ns/a", 2)), page(5, "", object("ns/a", 2))},
		"an object without resourceVersion": {page(5, "", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"}}`)},
		"an object of the wrong scope":      {page(5, "", object("a", 2))},
		"HTML":                              {"<html>welcome to the load balancer</html>"},
		"incomplete list":                   {page(5, "", object("ns/a", 2))[:80]},
		"a list without resourceVersion":    {`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}`},
		"a Status with 200":                 {testkit.StatusText(500, "InternalError")},
		"an endless continue token":         {page(5, "x", ""), page(5, "x", "")},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Put("ns/true", "1")
				r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "BadRequest"))
				r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
					if request.URL.Query().Get("continue") != "" {
						text(pages[len(pages)-1])(w, request)
						return
					}
					text(pages[0])(w, request)
				})
				lane := r.lane(t)
				elapse(time.Minute)
				if _, err := lane.Cache.State(); err == nil {
					t.Fatalf("got objects %v of an invalid list", contents(t, lane))
				}
				if lane.Failure() == nil || lane.Failure().Refused {
					t.Errorf("got failure %+v", lane.Failure())
				}
				if n := r.Asked(testkit.AskList); n < 3 || n > 40 {
					t.Errorf("got %d requests in a minute", n)
				}
				r.Script(testkit.AskList, nil)
				elapse(2 * time.Minute)
				if diff := cmp.Diff([]string{"ns/true@2"}, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A server that accepts a connection and never responds, or never ends a response, must not block a lane for ever.
func TestHangingUpstreamDoesNotBlockLane(t *testing.T) {
	hang := func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }
	drip := func(w http.ResponseWriter, request *http.Request) {
		for request.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			<-time.After(time.Second)
		}
	}
	for name, script := range map[string]struct {
		ask    testkit.Ask
		answer http.HandlerFunc
	}{
		"no headers of the probe":          {testkit.AskProbe, hang},
		"no end of the probe":              {testkit.AskProbe, drip},
		"no headers of the streaming list": {testkit.AskStreaming, hang},
		"blanks for a streaming list":      {testkit.AskStreaming, drip},
		"no headers of the list":           {testkit.AskList, hang},
		"no end of the list":               {testkit.AskList, drip},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				if script.ask == testkit.AskList {
					r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusBadRequest, "BadRequest"))
				}
				r.Script(script.ask, script.answer)
				lane := r.lane(t)
				elapse(20 * time.Minute)
				r.Script(script.ask, nil)
				elapse(20 * time.Minute)
				if got := contents(t, lane); len(got) != 0 {
					t.Errorf("got objects %v", got)
				}
			})
		})
	}
}
