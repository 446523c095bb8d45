package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire"
)

// taker counts the turns that are taken and not returned.
type taker struct {
	mu         sync.Mutex
	open, most int
}

func (k *taker) turn(context.Context) (leave func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open++
	k.most = max(k.most, k.open)
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.open--
	}, nil
}

// selection returns what a watch of a namespace selects.
func (r *rig) selection(t *testing.T, lane *Reflector, namespace, labelled string) Selection {
	t.Helper()
	selector, err := labels.Parse(labelled)
	if err != nil {
		t.Fatal(err)
	}
	return Selection{Namespace: namespace, Labels: selector, Fields: fields.Everything(),
		Predicate: lane.Kind().Predicate(namespace, selector, fields.Everything())}
}

// olderTexts returns events as "TYPE key@rv".
func olderTexts(older *OlderEvents) []string {
	all := []string{}
	for e := range older.All() {
		all = append(all, fmt.Sprintf("%s %s@%d", e.Type, e.Object.Key(), e.RV))
	}
	return all
}

// aged starts a lane after events: a@2, b@3, other/a@4, a@5, b deleted at 6, and version 7 of another resource.
func (r *rig) aged(t *testing.T) *Reflector {
	t.Helper()
	r.Put("ns/a", "1")
	r.Put("ns/b", "1")
	r.Put("other/a", "1")
	r.Put("ns/a", "2")
	r.Delete("ns/b")
	r.Elsewhere()
	return r.synced(t)
}

func TestOlderEventsComeFromTheUpstream(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.aged(t)
		for _, c := range []struct {
			namespace string
			after     cache.RV
			want      []string
		}{
			{"", 2, []string{"ADDED ns/b@3", "ADDED other/a@4", "MODIFIED ns/a@5", "DELETED ns/b@6"}},
			{"", 4, []string{"MODIFIED ns/a@5", "DELETED ns/b@6"}},
			{"ns", 2, []string{"ADDED ns/b@3", "MODIFIED ns/a@5", "DELETED ns/b@6"}},
			{"other", 2, []string{"ADDED other/a@4"}},
			{"", 6, []string{}},
		} {
			k := &taker{}
			older, err := lane.Older(t.Context(), c.after, r.selection(t, lane, c.namespace, ""), k.turn)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, olderTexts(older)); diff != "" || older.UpTo() != 7 || k.open != 0 {
				t.Errorf("%v: up to %d with %d turns: %s", c, older.UpTo(), k.open, diff)
			}
			older.Close()
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 1 {
			t.Errorf("got %d watches of the upstream, want one for all", n)
		}
		elapse(2 * time.Minute)
		if n, all := lane.OlderBytes(), r.lanes.older.bytes.Load(); n != 0 || all != 0 {
			t.Errorf("%d and %d bytes are in use after the log was dropped", n, all)
		}
	})
}

// If the content before the events cannot be read, each selector has a watch of the upstream. All watches with one
// selector share it.
func TestOlderEventsOfASelectorAreSelectedByTheUpstream(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.aged(t)
		var waiting sync.WaitGroup
		for range 8 {
			for _, label := range []string{"x", "!y"} {
				waiting.Go(func() {
					older, err := lane.Older(t.Context(), 2, r.selection(t, lane, "ns", label), new(taker).turn)
					if err != nil {
						t.Error(err)
						return
					}
					older.Close()
				})
			}
		}
		waiting.Wait()
		asked := map[string]int{}
		for _, request := range r.Requests(testkit.AskProgressWatch)[1:] {
			asked[request.URL.Path+" "+request.URL.Query().Get("labelSelector")]++
		}
		want := map[string]int{"/api/v1/namespaces/ns/configmaps x": 1, "/api/v1/namespaces/ns/configmaps !y": 1}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Error(diff)
		}
	})
}

// labelled returns an object with a label.
func (r *rig) labelled(key string, rv uint64, label string) string {
	return strings.Replace(r.ObjectText(key, rv, "1"), `"metadata":{`, `"metadata":{"labels":{"t":"`+label+`"},`, 1)
}

// sendBefore responds with the requested object as it was at version 1, with the label t=a.
func (r *rig) sendBefore(w http.ResponseWriter, request *http.Request) {
	name := strings.TrimPrefix(request.URL.Query().Get("fieldSelector"), "metadata.name=")
	text(fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"columnDefinitions":%s,`+
		`"rows":[{"cells":[%q],"object":%s}]}`+"\n", testkit.DefaultColumns, name, r.labelled("ns/"+name, 1, "a")))(w, request)
}

// The content before an event decides what it means for a selector. It comes from the log, or from one read for each
// object that the log knows only after a change, whatever the number of selectors.
func TestOlderEventsOfASelectorDependOnTheContentBefore(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.aged(t)
		event := func(kind, key string, rv uint64, label string) string {
			return r.FrameText(kind, r.labelled(key, rv, label), rv, "null")
		}
		r.Script(testkit.AskProgressWatch, frames(event("MODIFIED", "ns/a", 2, "b"), event("MODIFIED", "ns/a", 3, "a"),
			event("DELETED", "ns/a", 4, "a"), event("ADDED", "ns/c", 5, "b"), event("MODIFIED", "ns/c", 6, "a"), event("MODIFIED", "ns/b", 7, "b")))
		r.Script(testkit.AskProbe, r.sendBefore)
		before := r.Asked(testkit.AskProbe)
		for selector, want := range map[string][]string{
			"t=a":  {"DELETED ns/a@2", "ADDED ns/a@3", "DELETED ns/a@4", "ADDED ns/c@6", "DELETED ns/b@7"},
			"t!=a": {"ADDED ns/a@2", "DELETED ns/a@3", "ADDED ns/c@5", "DELETED ns/c@6", "ADDED ns/b@7"},
			"t":    {"MODIFIED ns/a@2", "MODIFIED ns/a@3", "DELETED ns/a@4", "ADDED ns/c@5", "MODIFIED ns/c@6", "MODIFIED ns/b@7"},
		} {
			older, err := lane.Older(t.Context(), 1, r.selection(t, lane, "ns", selector), new(taker).turn)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, olderTexts(older)); diff != "" {
				t.Errorf("%s: %s", selector, diff)
			}
			for e := range older.All() {
				if text := string(stateOf(t, lane).Shape().AppendObject(nil, wire.Representation{}, e.Object.Item(), time.Now())); !strings.Contains(text, fmt.Sprintf(`"resourceVersion":"%d"`, e.RV)) {
					t.Errorf("%s: %s at %d has content %s", selector, e.Type, e.RV, text)
				}
			}
			older.Close()
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 1 {
			t.Errorf("got %d watches of the upstream, want one", n)
		}
		if n := r.Asked(testkit.AskProbe) - before; n != 2 {
			t.Errorf("got %d reads of objects, want one of each that was modified first", n)
		}
	})
}

// Many watches of all ages at once cost the upstream two watches: one for the first, and one from the lowest version.
func TestOlderEventsAreShared(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		for i := range 64 {
			r.Put(fmt.Sprintf("ns/o%d", i), "1")
		}
		lane, k := r.synced(t), &taker{}
		r.Script(testkit.AskProgressWatch, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Second) //pace: all others begin in the meantime
			r.Truth(w, request)
		})
		var waiting sync.WaitGroup
		for i := range 60 {
			after := cache.RV(2 + (i*37)%60)
			waiting.Go(func() {
				older, err := lane.Older(t.Context(), after, r.selection(t, lane, "", ""), k.turn)
				if err != nil {
					t.Error(err)
					return
				}
				defer older.Close()
				if got := olderTexts(older); len(got) != int(older.UpTo()-after) {
					t.Errorf("got %d events after %d up to %d", len(got), after, older.UpTo())
				}
			})
		}
		waiting.Wait()
		if n := r.Asked(testkit.AskProgressWatch); n > 2 || k.open != 0 {
			t.Errorf("got %d watches of the upstream and %d open turns, want at most 2 and none", n, k.open)
		}
	})
}

// expiredText is the 410 of kube-apiserver's watch cache.
func expiredText(after, oldest int) string {
	return fmt.Sprintf(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"too old resource version: %d (%d)","reason":"Expired","code":410}}`+"\n", after, oldest)
}

// What the upstream refuses with 410 is refused with the upstream's bound, and others are still brought forward.
func TestOlderEventsExpire(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.aged(t)
		r.Script(testkit.AskProgressWatch, func(w http.ResponseWriter, request *http.Request) {
			if after := request.URL.Query().Get("resourceVersion"); after < "4" {
				text(expiredText(int(after[0]-'0'), 4))(w, request)
				return
			}
			r.Truth(w, request)
		})
		for _, after := range []cache.RV{2, 3, 4} {
			older, err := lane.Older(t.Context(), after, r.selection(t, lane, "", ""), new(taker).turn)
			var expired *cache.ExpiredError
			switch {
			case after == 4 && err != nil:
				t.Error(err)
			case after == 4:
				older.Close()
			case !errors.As(err, &expired) || *expired != cache.ExpiredError{Requested: after, Oldest: 4}:
				t.Errorf("got %v from %d", err, after)
			}
		}
		if n := r.Asked(testkit.AskProgressWatch); n != 2 {
			t.Errorf("got %d watches of the upstream, want one refused and one answered", n)
		}
		r.forward.Lock()
		defer r.forward.Unlock()
		if diff := cmp.Diff([]string{olderExpired, olderExpired, olderContinued}, r.forward.outcomes); diff != "" {
			t.Error(diff)
		}
	})
}

// A version that the upstream has just refused causes no second watch, even if another log was read in the meantime.
func TestOlderEventsRememberTheRefusedVersion(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.aged(t)
		r.Script(testkit.AskProgressWatch, func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Query().Get("resourceVersion") == "2" {
				text(expiredText(2, 4))(w, request)
				return
			}
			r.Truth(w, request)
		})
		for _, c := range []struct {
			after   cache.RV
			refused bool
			asked   int
		}{{2, true, 1}, {5, false, 2}, {2, true, 2}, {4, false, 3}, {3, true, 3}} {
			older, err := lane.Older(t.Context(), c.after, r.selection(t, lane, "", ""), new(taker).turn)
			var expired *cache.ExpiredError
			if err == nil {
				older.Close()
			}
			if errors.As(err, &expired) != c.refused || (err != nil) != c.refused || r.Asked(testkit.AskProgressWatch) != c.asked {
				t.Errorf("%+v: got %v after %d watches of the upstream", c, err, r.Asked(testkit.AskProgressWatch))
			}
		}
		elapse(2 * olderFailedFor)
		if _, err := lane.Older(t.Context(), 2, r.selection(t, lane, "", ""), new(taker).turn); err == nil || r.Asked(testkit.AskProgressWatch) != 4 {
			t.Errorf("got %v, want the upstream asked again", err)
		}
	})
}

// However many logs a caller causes, the content before them is read for one at a time.
func TestOlderEventsAreResolvedOneAfterAnother(t *testing.T) {
	const amount = 40
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		for i := range amount {
			r.Put(fmt.Sprintf("ns/o%02d", i), "1")
		}
		lane := r.synced(t)
		frame := func(rv uint64) string {
			return r.FrameText("MODIFIED", r.labelled(fmt.Sprintf("ns/o%02d", rv-amount/2), rv, "b"), rv, "null")
		}
		all := []string{}
		for rv := uint64(amount/2 + 1); rv <= amount+1; rv++ {
			all = append(all, frame(rv))
		}
		r.Script(testkit.AskProgressWatch, frames(all...))
		var reading atomic.Int64
		release := make(chan struct{})
		r.Script(testkit.AskProbe, func(w http.ResponseWriter, request *http.Request) {
			reading.Add(1)
			<-release
			r.sendBefore(w, request)
		})
		var waiting sync.WaitGroup
		for _, after := range []cache.RV{20, 19, 18} {
			waiting.Go(func() {
				older, err := lane.Older(t.Context(), after, r.selection(t, lane, "ns", "t=b"), new(taker).turn)
				if err != nil {
					t.Error(err)
					return
				}
				if n := len(olderTexts(older)); n != amount/2+1 {
					t.Errorf("got %d events after %d", n, after)
				}
				older.Close()
			})
			synctest.Wait()
		}
		if n := reading.Load(); n != unknownSeats {
			t.Errorf("got %d reads of objects at a time, want %d", n, unknownSeats)
		}
		close(release)
		waiting.Wait()
	})
}

// A watch of the upstream that breaks off is opened again after its last event.
func TestOlderEventsContinueAfterABreak(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.aged(t)
		r.Script(testkit.AskProgressWatch, func(w http.ResponseWriter, request *http.Request) {
			if request.URL.Query().Get("resourceVersion") == "2" {
				frames(r.FrameText("ADDED", r.ObjectText("ns/b", 3, "1"), 3, testkit.DefaultColumns))(w, request)
				return
			}
			r.Truth(w, request)
		})
		older, err := lane.Older(t.Context(), 2, r.selection(t, lane, "", ""), new(taker).turn)
		if err != nil {
			t.Fatal(err)
		}
		defer older.Close()
		want := []string{"ADDED ns/b@3", "ADDED other/a@4", "MODIFIED ns/a@5", "DELETED ns/b@6"}
		if diff := cmp.Diff(want, olderTexts(older)); diff != "" {
			t.Error(diff)
		}
	})
}

// Events that may be wrong are not sent.
func TestOlderEventsAreRefused(t *testing.T) {
	second := func(_ *rig, lane *Reflector) { // a second epoch
		lane.contradict(errContradicted)
		until(t, time.Second, "the lane is listed again", func() bool { return lane.Cache.Epochs() == 2 && lane.Failure() == nil })
	}
	for name, c := range map[string]struct {
		kind   testkit.FakeKind
		happen func(*rig, *Reflector)
		asked  int
	}{
		"a resource without bookmarks":   {events, func(*rig, *Reflector) {}, 0},
		"a version of the window":        {configMaps, func(*rig, *Reflector) {}, 0},
		"another epoch":                  {configMaps, second, 0},
		"other columns":                  {configMaps, func(r *rig, _ *Reflector) { r.SetColumns(`[{"name":"Other"}]`) }, 1},
		"the upstream sends no bookmark": {configMaps, func(r *rig, _ *Reflector) { r.Script(testkit.AskProgressWatch, frames()) }, olderRounds},
		"versions are not in order": {configMaps, func(r *rig, _ *Reflector) {
			same := r.FrameText("ADDED", r.ObjectText("ns/b", 3, "1"), 3, testkit.DefaultColumns)
			r.Script(testkit.AskProgressWatch, frames(same, same))
		}, 1},
		"the watch is refused": {configMaps, func(r *rig, _ *Reflector) {
			r.Script(testkit.AskProgressWatch, testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests"))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.kind, func(t *testing.T, r *rig) {
				lane := r.aged(t)
				after := cache.RV(2)
				if name == "a version of the window" {
					after = 7
				}
				c.happen(r, lane)
				before := r.Asked(testkit.AskProgressWatch)
				k := &taker{}
				older, err := lane.Older(t.Context(), after, r.selection(t, lane, "", ""), k.turn)
				if err == nil {
					t.Fatalf("got %v", olderTexts(older))
				}
				var expired *cache.ExpiredError
				if errors.As(err, &expired) || k.open != 0 {
					t.Errorf("got %v with %d open turns", err, k.open)
				}
				if n := r.Asked(testkit.AskProgressWatch) - before; n != c.asked {
					t.Errorf("got %d watches of the upstream, want %d", n, c.asked)
				}
			})
		})
	}
}

// A lane may be stopped before the address leads to another cluster. The next lane has no earlier epoch, but its
// clients may have versions of the first cluster.
func TestOlderEventsOfAnotherClusterAreRefused(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.isCluster("1")
		if !r.lanes.removeForMemory(r.aged(t), 1) {
			t.Fatal("the lane is not stopped")
		}
		elapse(time.Minute)
		r.isCluster("2")
		lane := r.synced(t)
		older, err := lane.Older(t.Context(), 2, r.selection(t, lane, "", ""), new(taker).turn)
		if !errors.Is(err, errNotOlder) {
			t.Fatalf("got %v with error %v", older, err)
		}
	})
}

// A client that leaves ends nothing that others wait for, and the end of the lanes ends the wait.
func TestOlderEventsOutliveTheirFirstClient(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.aged(t)
		release := make(chan struct{})
		r.Script(testkit.AskProgressWatch, func(w http.ResponseWriter, request *http.Request) {
			select {
			case <-release:
				r.Truth(w, request)
			case <-request.Context().Done():
			}
		})
		first, leave := context.WithCancel(t.Context())
		results := make(chan error, 2)
		wait := func(ctx context.Context) {
			older, err := lane.Older(ctx, 2, r.selection(t, lane, "", ""), new(taker).turn)
			if err == nil {
				older.Close()
			}
			results <- err
		}
		go wait(first)
		synctest.Wait()
		go wait(t.Context())
		synctest.Wait()
		leave()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v for the client that left", err)
		}
		close(release)
		if err := <-results; err != nil {
			t.Errorf("got %v for the client that stayed", err)
		}
		elapse(2 * time.Minute)
		r.Script(testkit.AskProgressWatch, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
		go wait(t.Context())
		synctest.Wait()
		r.stop()
		if err := <-results; err == nil {
			t.Error("got events from lanes that are stopped")
		}
		if n := r.lanes.older.bytes.Load(); n != 0 {
			t.Errorf("%d bytes are in use after the end", n)
		}
	})
}
