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

// kube-apiserver ends the watches of a custom resource when its definition changes. The lane is not filled on with what
// was read under the old definition.
func TestRedefined(t *testing.T) {
	for name, change := range map[string]http.HandlerFunc{
		"selectable field":        crd("u1", 2, ".spec.size"),
		"deleted and made anew":   crd("u2", 1, ".spec.v"),
		"no longer to be read":    testkit.Refuse(http.StatusForbidden, "Forbidden"),
		"read, but not as JSON":   nil,
		"the same as it was ever": crd("u1", 1, ".spec.v"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, widgets, func(t *testing.T, r *rig) {
				r.Put("ns/a", "1")
				r.Script(crdPath, crd("u1", 1, ".spec.v"))
				lane := r.synced(t)
				if got := fieldLabels(lane); !cmp.Equal(got, []string{"spec.v"}) {
					t.Fatalf("selected by %v", got)
				}
				if change == nil {
					change = text("<html>")
				}
				r.Script(crdPath, change)
				r.Put("ns/a", "2")
				r.DropWatches()
				elapse(2 * time.Minute) // a refusal counts after half a minute, at an attempt that is up to a minute after the last
				failure, again := lane.Failure(), r.lane(t)
				switch name {
				case "the same as it was ever":
					if failure != nil || again != lane {
						t.Errorf("the lane ended: %+v", failure)
					}
				case "read, but not as JSON":
					if again != lane || lane.StaleFor() < 50*time.Second {
						t.Error("the lane goes on without knowing what it reads")
					}
				default:
					gone := name != "no longer to be read" // then it is the right to read it that is
					if failure == nil || !failure.Refused || failure.Gone() != gone || again == lane {
						t.Fatalf("the lane goes on: %+v", failure)
					}
					again = r.synced(t)
					want := []string{}
					switch name {
					case "selectable field":
						want = []string{"spec.size"}
					case "deleted and made anew":
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

// A resource that is another one now is not kept waiting for the refusal of the old one to grow old.
func TestResourceOfAnotherScope(t *testing.T) {
	inBubble(t, widgets, func(t *testing.T, r *rig) {
		lane := r.synced(t)
		r.Script(testkit.AskProbe, testkit.Refuse(http.StatusNotFound, "NotFound"))
		r.DropWatches()
		elapse(time.Second)
		other := r.resource()
		other.Namespaced = false
		if again, err := r.lanes.Get(other, jsonwire.Encoding{}); err != nil || again == lane || again.Resource != other {
			t.Errorf("the lane of the old resource was given out: %v", err)
		}
	})
}

// A lane of what was taken for built-in, or for custom, and is not, ends, and the catalog is told to look again.
func TestTakenForAnotherKind(t *testing.T) {
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
					t.Fatalf("the failure is %+v", failure)
				}
				if wrong.Kind() != nil {
					t.Error("requests are parsed by the wrong kind")
				}
				if right := r.synced(t); right == wrong {
					t.Error("the lane of another kind was given out")
				}
			})
		})
	}
}

// The columns come with a stream's first frame. When they differ, the cells that the lane has are of another Table.
func TestReprinted(t *testing.T) {
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
			t.Error("the columns are not those of now")
		}
		if got := contents(t, lane); len(got) != 2 {
			t.Errorf("the lane holds %v", got)
		}
		if r.relisted.Load() != 1 {
			t.Errorf("relisted %d times", r.relisted.Load())
		}
	})
}

// An etcd that comes back from a backup is behind the lane. kube-apiserver would resume the watch all the same, in
// silence.
func TestRestored(t *testing.T) {
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
					t.Error("what the upstream lost was proven fresh")
				}
				elapse(time.Minute)
				if diff := cmp.Diff([]string{"ns/old@6"}, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				if state, _, err := lane.Recent(t.Context(), time.Now(), fresh.Endless()); err != nil || state.RV() != 6 {
					t.Errorf("the lane is not fresh again: %v", err)
				}
			})
		})
	}
}
