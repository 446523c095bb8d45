package reflector

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.io"

// crd is the definition of widgets with one selectable field.
func crd(uid string, generation int, field string) http.HandlerFunc {
	return text(fmt.Sprintf(`{"kind":"CustomResourceDefinition","metadata":{"name":"widgets.ex.io","uid":%q,"generation":%d},"spec":{"versions":[`+
		`{"name":"v1","selectableFields":[{"jsonPath":%q}]}]}}`, uid, generation, field))
}

// kube-apiserver ends the watches of a custom resource when its definition changes. The lane must not continue with
// properties of the old definition.
func TestRedefinedLaneEnds(t *testing.T) {
	for name, change := range map[string]http.HandlerFunc{
		"selectable field":          crd("u1", 2, ".spec.size"),
		"deleted and created again": crd("u2", 1, ".spec.v"),
		"no longer readable":        testkit.Refuse(http.StatusForbidden, "Forbidden"),
		"read, but not as JSON":     nil,
		"unchanged":                 crd("u1", 1, ".spec.v"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, widgets, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				r.Script(crdPath, crd("u1", 1, ".spec.v"))
				lane := r.synced(t)
				if got := fieldLabels(lane); !cmp.Equal(got, []string{"spec.v"}) {
					t.Fatalf("got selectable fields %v", got)
				}
				if change == nil {
					change = text("<html>")
				}
				r.Script(crdPath, change)
				r.Put("ns/a", "2")
				r.DropWatches()
				elapse(2 * time.Minute) // a refusal ends the lane after half a minute, at the next attempt
				failure, again := lane.Failure(), r.lane(t)
				switch name {
				case "unchanged":
					if failure != nil || again != lane {
						t.Errorf("got failure %+v, want none", failure)
					}
				case "read, but not as JSON":
					if again != lane || lane.StaleFor() < 50*time.Second {
						t.Error("the lane continues without a definition")
					}
				default:
					gone := name != "no longer readable" // in that case only the permission is gone
					if failure == nil || !failure.Refused || failure.Gone() != gone || again == lane {
						t.Fatalf("got failure %+v, want the end of the lane", failure)
					}
					again = r.synced(t)
					want := []string{}
					switch name {
					case "selectable field":
						want = []string{"spec.size"}
					case "deleted and created again":
						want = []string{"spec.v"}
					}
					if diff := cmp.Diff(want, fieldLabels(again)); diff != "" {
						t.Error(diff)
					}
				}
			})
		})
	}
}

func fieldLabels(lane *Reflector) []string {
	all := []string{}
	for _, field := range lane.Kind().Fields() {
		all = append(all, field.Label)
	}
	return all
}

// A resource that changed is served without a wait for the end of the old resource's refusal.
func TestResourceOfAnotherScope(t *testing.T) {
	inBubble(t, widgets, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		r.Script(testkit.AskProbe, testkit.Refuse(http.StatusNotFound, "NotFound"))
		r.DropWatches()
		elapse(time.Second)
		other := r.resource()
		other.Namespaced = false
		if again, err := r.lanes.Get(other, jsonwire.Encoding{}); err != nil || again == lane || again.Resource != other {
			t.Errorf("Get returned the lane of the old resource: %v", err)
		}
	})
}

// A lane ends if discovery took a custom resource for a built-in one, or the reverse. The catalog is then read again.
func TestLaneOfWrongKindEnds(t *testing.T) {
	for _, kind := range []testkit.FakeKind{configMaps, widgets} {
		t.Run(kind.Kind, func(t *testing.T) {
			inBubble(t, kind, func(t *testing.T, r *rig) {
				other := r.resource()
				other.Custom = !other.Custom
				wrong, err := r.lanes.Get(other, jsonwire.Encoding{})
				if err != nil {
					t.Fatal(err)
				}
				elapse(time.Second)
				if failure := wrong.Failure(); failure == nil || !failure.Gone() {
					t.Fatalf("got failure %+v", failure)
				}
				if wrong.Kind() != nil {
					t.Error("got a kind, want none: it is the wrong one")
				}
				if right := r.synced(t); right == wrong {
					t.Error("Get returned the lane of another kind")
				}
			})
		})
	}
}

// Columns arrive in the first frame of a stream. If they differ, the lane's cells belong to another Table.
func TestChangedColumnsRelist(t *testing.T) {
	const columns = `[{"name":"Name","type":"string","format":"name","description":"Name","priority":0},` +
		`{"name":"Size","type":"integer","format":"","description":"","priority":0}]`
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		r.SetColumns(columns)
		elapse(time.Minute)
		r.DropWatches()
		elapse(time.Minute)
		r.Put("ns/b", "1")
		elapse(time.Minute)
		state := stateOf(t, lane)
		if !state.Shape().Prints() || state.Shape().Reprinted([]byte(columns)) {
			t.Error("got the old columns, want the new ones")
		}
		if got := contents(t, lane); len(got) != 2 {
			t.Errorf("got objects %v", got)
		}
		if r.relisted.Load() != 1 {
			t.Errorf("got %d relists", r.relisted.Load())
		}
	})
}

// An etcd that was restored from a backup is behind the lane. kube-apiserver would resume the watch without an error.
func TestRestoredUpstreamRelists(t *testing.T) {
	for _, how := range []string{"resume", "probe", "roll call"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				for i := range 20 {
					r.Put(fmt.Sprintf("ns/%02d", i), "1")
				}
				lane := r.synced(t)
				r.Restore(5)
				r.Put("ns/old", "1")
				if how == "probe" {
					r.noRollCalls()
				}
				if how == "resume" {
					r.DropWatches()
				} else if _, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err == nil {
					t.Error("got a fresh State with objects that the upstream lost")
				}
				elapse(time.Minute)
				if diff := cmp.Diff([]string{"ns/old@6"}, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || state.RV() != 6 {
					t.Errorf("after the relist: got %v, want a fresh State", err)
				}
			})
		})
	}
}
