package reflector

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit"
)

const reviewsPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// review answers access reviews.
func review(status string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"status":`+status+`}`)
	}
}

// A starting kube-apiserver refuses all requests, as does one after a token was rotated. The lane waits, serves its
// State, and then continues without a relist.
func TestSyncedLaneSurvivesRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		review http.HandlerFunc
	}{
		"401":                           {401, testkit.Refuse(401, "Unauthorized")},
		"401, and a review that denies": {401, review(`{"allowed":false}`)},
		"403, no review either":         {403, testkit.Refuse(403, "Forbidden")},
		"403, allowed":                  {403, review(`{"allowed":true}`)},
		"403, and an incomplete review": {403, review(`{"allowed":false,"evaluationError":"a role is missing"}`)},
		"403, no reviews":               {403, nil},
	} {
		for _, ask := range []testkit.Ask{testkit.AskProbe, testkit.AskWatch} {
			t.Run(fmt.Sprint(name, ", ", ask), func(t *testing.T) {
				inBubble(t, configMaps, func(t *testing.T, r *rig) {
					r.Put("ns/a", "1")
					lane := r.synced(t)
					watcher := watchAll(t, lane)
					elapse(2 * time.Minute)
					r.Script(reviewsPath, c.review)
					r.Script(ask, testkit.Refuse(c.code, "Refused"))
					before := r.Asked(ask)
					r.DropWatches()
					r.Put("ns/b", "1")
					elapse(refusalLasts - 5*time.Second)
					if failure := lane.Failure(); failure != nil || r.lane(t) != lane {
						t.Fatalf("got failure %+v, want none", failure)
					}
					if diff := cmp.Diff([]string{"ns/a@2"}, contents(t, lane)); diff != "" {
						t.Error(diff)
					}
					if stale := lane.StaleFor(); stale < refusalLasts-10*time.Second {
						t.Errorf("got StaleFor %s", stale)
					}
					if n := r.Asked(ask) - before; n < 3 || n > 10 {
						t.Errorf("got %d requests", n)
					}
					r.Script(ask, nil)
					elapse(refusalLasts)
					if event, ok := watcher.Next(); !ok || event.Object.Key() != "ns/b" || watcher.Err() != nil {
						t.Errorf("got event %v, watcher error %v", event, watcher.Err())
					}
					if r.relisted.Load() != 0 || lane.StaleFor() != 0 {
						t.Errorf("got %d relists, stale for %s", r.relisted.Load(), lane.StaleFor())
					}
				})
			})
		}
	}
}

// A lasting refusal ends the lane: the permission or the credentials were removed.
func TestLastingRefusalEndsLane(t *testing.T) {
	for _, code := range []int{401, 403} {
		inBubble(t, configMaps, func(t *testing.T, r *rig) {
			lane := r.synced(t)
			r.Script(testkit.AskWatch, testkit.Refuse(code, "Refused"))
			r.DropWatches()
			elapse(3 * refusalLasts)
			if failure := lane.Failure(); failure == nil || !failure.Refused || failure.Gone() {
				t.Errorf("%d: got failure %+v, want a refusal", code, failure)
			}
			if _, err := lane.Cache.State(); !errors.Is(err, cache.ErrClosed) {
				t.Errorf("%d: got %v from the lane", code, err)
			}
		})
	}
}

// Refusals with other responses in between do not add up.
func TestInterruptedRefusalsDoNotAddUp(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		var asked atomic.Int64
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
			code := http.StatusForbidden
			if asked.Add(1)%4 == 0 {
				code = http.StatusServiceUnavailable
			}
			testkit.Refuse(code, "Refused")(w, request)
		})
		r.DropWatches()
		elapse(10 * refusalLasts)
		if failure := lane.Failure(); failure != nil {
			t.Errorf("got failure %+v, want none", failure)
		}
	})
}

// A refusal that the upstream's authorizer confirms ends the lane immediately, for either of the two permissions.
func TestConfirmedRefusalEndsLane(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		inBubble(t, configMaps, func(t *testing.T, r *rig) {
			lane := r.synced(t)
			r.Script(reviewsPath, func(w http.ResponseWriter, request *http.Request) {
				body, _ := io.ReadAll(request.Body)
				denied := strings.Contains(string(body), `"verb":"`+verb+`","version":"v1","resource":"configmaps"`)
				review(fmt.Sprintf(`{"allowed":%t}`, !denied))(w, request)
			})
			r.Script(testkit.AskWatch, testkit.Refuse(http.StatusForbidden, "Forbidden"))
			r.DropWatches()
			elapse(time.Second)
			if failure := lane.Failure(); failure == nil || !failure.Refused {
				t.Errorf("%s: got failure %+v, want a refusal", verb, failure)
			}
		})
	}
}

// A lane that is refused while it is listed again keeps its last State and its watchers.
func TestRefusedRelistKeepsState(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		watcher := watchAll(t, lane)
		r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		r.Script(testkit.AskStreaming, testkit.Refuse(http.StatusForbidden, "Forbidden"))
		r.DropWatches()
		elapse(refusalLasts / 2)
		if got := contents(t, lane); len(got) != 1 || watcher.Err() != nil {
			t.Errorf("got objects %v, got watcher error %v", got, watcher.Err())
		}
		r.Script(testkit.AskStreaming, nil)
		r.Put("ns/b", "1")
		elapse(refusalLasts)
		if got := contents(t, lane); len(got) != 2 {
			t.Errorf("got objects %v", got)
		}
	})
}

// watchAll returns a watcher of a lane from now on.
func watchAll(t *testing.T, lane *Reflector) *cache.Watcher {
	t.Helper()
	watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.FromNow()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Close)
	return watcher
}
