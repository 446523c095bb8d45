package reflector

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/wire"
)

// many are enough for pages: three of objects.
const many = 2*firstPage + 50

// pagedRig is in front of an upstream that answers pages from memory.
func pagedRig(t *testing.T, kind testkit.FakeKind, test func(*testing.T, *rig)) {
	t.Helper()
	inBubble(t, kind, func(t *testing.T, r *rig) {
		r.isVersion("v1.37.1")
		for i := range many {
			r.Put(key(kind, i), "1")
		}
		test(t, r)
	})
}

func key(kind testkit.FakeKind, i int) string {
	if kind.Namespaced {
		return fmt.Sprintf("ns/%04d", i)
	}
	return fmt.Sprintf("%04d", i)
}

// asksRows reports whether a request is for rows.
func asksRows(r *http.Request) bool { return r.URL.Query().Get("includeObject") == "None" }

// filledWhole fails unless the lane has all objects with their cells, and receives another one.
func filledWhole(t *testing.T, r *rig, lane *Reflector) {
	t.Helper()
	if n := stateOf(t, lane).Len(); n != many {
		t.Fatalf("got %d objects", n)
	}
	first := shown(t, lane, key(r.FakeKind, 0))
	if want := r.ObjectText(key(r.FakeKind, 0), 2, "1") + "\n"; first != want {
		t.Errorf("got first object %s, want %s", first, want)
	}
	object, _ := stateOf(t, lane).Get(key(r.FakeKind, 7))
	row := string(stateOf(t, lane).Shape().AppendObject(nil, wire.Representation{Kind: wire.Row, Meta: wire.MetaV1}, object.Item(), time.Now()))
	if !strings.Contains(row, `"rows":[{"cells":["0007"],`) || !stateOf(t, lane).Shape().Prints() {
		t.Errorf("got row %s", row)
	}
	r.Put(key(r.FakeKind, many), "1")
	synctest.Wait()
	if n := stateOf(t, lane).Len(); n != many+1 {
		t.Error("the watch does not continue from the list")
	}
}

func TestPagedList(t *testing.T) {
	for _, kind := range []testkit.FakeKind{configMaps, widgets, nodes} {
		t.Run(kind.Kind, func(t *testing.T) {
			pagedRig(t, kind, func(t *testing.T, r *rig) {
				lane := r.synced(t)
				if !lane.Marked() || lane.Bookmark() == nil {
					t.Error("got no bookmark")
				}
				filledWhole(t, r, lane)
				asked := []string{}
				for _, question := range r.Requests(testkit.AskList) {
					query := question.URL.Query()
					if accepts := question.Header.Get("Accept") == tables; accepts != asksRows(question) {
						t.Errorf("got the request %s with Accept %s", question.URL.RawQuery, question.Header.Get("Accept"))
					}
					asked = append(asked, fmt.Sprintf("%t %s %s %s", asksRows(question), query.Get("continue"), query.Get("resourceVersion"), query.Get("resourceVersionMatch")))
				}
				now := fmt.Sprint(many + 1)
				want := []string{"true  " + now + " NotOlderThan", "false  " + now + " Exact", "false 100  "}
				if diff := cmp.Diff(want, asked); diff != "" {
					t.Error(diff)
				}
				if n := r.Asked(testkit.AskStreaming); n != 0 {
					t.Errorf("got %d streaming lists", n)
				}
				watches := r.Requests(testkit.AskWatch)
				if len(watches) != 1 || watches[0].Header.Get("Accept") != tables || watches[0].URL.Query().Get("includeObject") != "Object" {
					t.Errorf("got %d watches, want one for Tables with complete objects", len(watches))
				}
			})
		})
	}
}

// Few objects are filled by a streaming list, as are any objects of an upstream that reads pages from etcd.
func TestFewObjectsAreStreamed(t *testing.T) {
	for name, c := range map[string]struct {
		objects int
		version string
	}{
		"few": {pagedFrom - 1, "v1.37.1"}, "none": {0, "v1.37.1"}, "without snapshots": {many, "v1.33.9"}, "of no version": {many, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.isVersion(c.version)
				for i := range c.objects {
					r.Put(key(configMaps, i), "1")
				}
				lane := r.synced(t)
				if n := stateOf(t, lane).Len(); n != c.objects || r.Asked(testkit.AskStreaming) != 1 || r.Asked(testkit.AskMarks) != 0 {
					t.Errorf("got %d objects by %d streaming lists", n, r.Asked(testkit.AskStreaming))
				}
			})
		})
	}
}

// The upstream forgets the version of a list whose pages arrive too slowly. The list is started again, and finally
// requested as a streaming list.
func TestExpiredPagesAreListedAgain(t *testing.T) {
	for _, times := range []int{1, listings - 1, listings} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			pagedRig(t, configMaps, func(t *testing.T, r *rig) {
				expired := 0
				r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
					if request.URL.Query().Get("continue") != "" && expired < times {
						expired++
						testkit.Refuse(http.StatusGone, "Expired")(w, request)
						return
					}
					r.Truth(w, request)
				})
				lane := r.synced(t)
				filledWhole(t, r, lane)
				if streamed := r.Asked(testkit.AskStreaming); (streamed == 1) != (times == listings) {
					t.Errorf("got %d streaming lists", streamed)
				}
				if r.relisted.Load() != 0 || lane.Failure() != nil {
					t.Error("got a new epoch, want the same one")
				}
			})
		})
	}
}

// If a listing takes longer than the upstream keeps events for the watch after it, pages are not tried again.
func TestPagesOutliveTheWindow(t *testing.T) {
	pagedRig(t, configMaps, func(t *testing.T, r *rig) {
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, _ *http.Request) {
			r.Script(testkit.AskWatch, nil)
			_, _ = w.Write([]byte(`{"type":"ERROR","object":` + testkit.StatusText(http.StatusGone, "Expired") + "}\n"))
		})
		lane := r.synced(t)
		elapse(time.Minute)
		filledWhole(t, r, lane)
		if streamed := r.Asked(testkit.AskStreaming); streamed != 1 || r.relisted.Load() != 1 {
			t.Errorf("got %d relists, by %d streaming lists", r.relisted.Load(), streamed)
		}
	})
}

var cellsOf = regexp.MustCompile(`\{"cells":\["\d+"\],"object":null\}`)

// Rows are not assigned to objects if their order or number differs.
func TestUnalignedRowsAreStreamed(t *testing.T) {
	for name, spoil := range map[string]func(rows []string) []string{
		"sorted in another way": func(rows []string) []string { slices.Reverse(rows); return rows },
		"the last is missing":   func(rows []string) []string { return rows[1:] },
		"one too many":          func(rows []string) []string { return append(rows, rows[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			pagedRig(t, configMaps, func(t *testing.T, r *rig) {
				r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
					if !asksRows(request) {
						r.Truth(w, request)
						return
					}
					answer := httptest.NewRecorder()
					r.Truth(answer, request)
					body := answer.Body.String()
					rows := cellsOf.FindAllString(body, -1)
					at, end := strings.Index(body, rows[0]), strings.LastIndex(body, "]")
					_, _ = w.Write([]byte(body[:at] + strings.Join(spoil(rows), ",") + body[end:]))
				})
				lane := r.synced(t)
				if n := stateOf(t, lane).Len(); n != many || r.Asked(testkit.AskStreaming) != 1 {
					t.Errorf("got %d objects by %d streaming lists", n, r.Asked(testkit.AskStreaming))
				}
				asked := r.Asked(testkit.AskList)
				r.lanes.All()[0].contradict(errContradicted)
				elapse(time.Minute)
				if r.Asked(testkit.AskList) != asked || r.Asked(testkit.AskStreaming) != 2 {
					t.Error("got another attempt with pages, want none")
				}
			})
		})
	}
}

// A resource without printed columns is listed by pages of objects alone. Without a bookmark of the upstream, the
// minimal one is used.
func TestPagesWithoutColumnsOrBookmarks(t *testing.T) {
	pagedRig(t, configMaps, func(t *testing.T, r *rig) {
		noTable(r, testkit.AskList)
		lane := r.synced(t)
		if n := stateOf(t, lane).Len(); n != many || stateOf(t, lane).Shape().Prints() {
			t.Errorf("got %d objects", n)
		}
		if n := r.Asked(testkit.AskList); n != 3 {
			t.Errorf("got %d pages and requests for rows", n)
		}
	})
	pagedRig(t, configMaps, func(t *testing.T, r *rig) {
		r.Script(testkit.AskMarks, testkit.Refuse(http.StatusUnprocessableEntity, "Invalid"))
		lane := r.synced(t)
		if lane.Marked() || lane.Bookmark() == nil {
			t.Error("got Marked, or no minimal bookmark")
		}
		filledWhole(t, r, lane)
	})
	pagedRig(t, configMaps, func(t *testing.T, r *rig) {
		r.Script(testkit.AskMarks, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
		lane := r.lane(t)
		elapse(10 * time.Minute)
		if _, err := lane.Cache.State(); err == nil {
			t.Error("got a lane filled by an upstream that hangs")
		}
		r.Script(testkit.AskMarks, nil)
		elapse(10 * time.Minute)
		filledWhole(t, r, lane)
	})
}

// Callers and the log get the progress of the list, by the upstream's count.
func TestProgress(t *testing.T) {
	pagedRig(t, configMaps, func(t *testing.T, r *rig) {
		r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
			if !asksRows(request) {
				<-time.After(4 * time.Second)
			}
			r.Truth(w, request)
		})
		lane := r.lane(t)
		elapse(5 * time.Second)
		p, listing := lane.Progress()
		if want := (Progress{Objects: firstPage, Expected: many, Left: 7500 * time.Millisecond}); p != want || !listing || lane.FilledIn() != p.Left {
			t.Errorf("got %+v, want %+v; filled in %s", p, want, lane.FilledIn())
		}
		elapse(time.Second)
		lines := r.logs.FilterMessage("Filling lane").All()
		if len(lines) != 1 || lines[0].ContextMap()["expected"] != int64(many) {
			t.Errorf("got the log %v", lines)
		}
		elapse(time.Minute)
		if _, listing := lane.Progress(); listing {
			t.Error("got a list in progress, want none")
		}
		if n := r.logs.FilterMessage("Filling lane").Len(); n != 1 {
			t.Errorf("got %d log lines, want 1", n)
		}
	})
}

func TestPagesGrowAndShrink(t *testing.T) {
	for _, c := range []struct{ objects, size, want int }{
		{100, 1_500_000, 559}, {100, 100_000, maxPage}, {100, 64 << 20, 12}, {1, 64 << 20, 1}, {100, 0, maxPage},
	} {
		if got := (&listing{held: heldBytes, objects: series{limit: c.objects}}).limitFor(c.size); got != c.want {
			t.Errorf("after %d objects in %d bytes: got %d, want %d", c.objects, c.size, got, c.want)
		}
	}
}

// A page that exceeds the limit is requested in parts.
func TestLargePagesAreSplit(t *testing.T) {
	pagedRig(t, configMaps, func(t *testing.T, r *rig) {
		var limits []string
		r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
			limit := request.URL.Query().Get("limit")
			if asksRows(request) {
				r.Truth(w, request)
				return
			}
			if limits = append(limits, limit); limit == fmt.Sprint(firstPage) {
				piece := []byte(strings.Repeat(" ", 1<<20))
				for range heldBytes>>20 + 1 {
					if _, err := w.Write(piece); err != nil && !errors.Is(err, http.ErrHandlerTimeout) {
						return
					}
				}
			}
			r.Truth(w, request)
		})
		lane := r.synced(t)
		filledWhole(t, r, lane)
		if diff := cmp.Diff([]string{"100", "12", "5000"}, limits); diff != "" {
			t.Error(diff)
		}
	})
}
