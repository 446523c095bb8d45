package reflector

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// inSecondProcess runs a test with lanes that can be restored from the journal of an earlier process. The names are
// compared only if the journal is older than trustedAge.
func inSecondProcess(t *testing.T, test func(t *testing.T, r *rig, config Config)) {
	t.Helper()
	config := Config{Journal: Journal{Dir: filepath.Join(t.TempDir(), "journal")}, Packing: cache.Packing{From: 1}}
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, configMaps, config)
		r.isVersion("v1.37.1")
		r.isCluster("1")
		r.Put("ns/a", "1")
		r.Put("ns/b", "1")
		r.synced(t)
		elapse(2 * recordEvery)
		r.Put("ns/c", "1") // 4
		r.Delete("ns/b")   // 5
		r.Put("ns/a", "2") // 6
		synctest.Wait()
		r.stop()
		test(t, r, config)
	})
}

// prints is what a lane shows, and what its writer has learned that a journal could tell it.
type prints struct {
	State, Bookmark, Columns string
	Marked, Prints           bool
	Memory                   int64
}

func (r *Reflector) prints() prints {
	_, err := r.Cache.State()
	stats := r.Cache.Stats()
	return prints{
		State: fmt.Sprint(err), Bookmark: fmt.Sprint(r.Bookmark()), Columns: string(r.writer.present.columns), Marked: r.Marked(),
		Prints: r.writer.present.shape.Prints(), Memory: stats.Memory(),
	}
}

// TestJournalIsVisibleOnlyAfterCheck checks that readers see nothing of a journal before the upstream has confirmed it.
// Then they immediately see its last State, and watches resume within its history.
func TestJournalIsVisibleOnlyAfterCheck(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		elapse(2 * trustedAge)
		r.start(t, config)
		var lane *Reflector
		started := make(chan struct{})
		r.Script(testkit.AskRoll, func(w http.ResponseWriter, request *http.Request) {
			<-started
			if _, err := lane.Cache.State(); err == nil || lane.Bookmark() != nil || lane.Marked() {
				t.Errorf("got %+v before the check, want nothing", lane.prints())
			}
			r.Truth(w, request)
		})
		lane = r.lane(t)
		close(started)
		r.synced(t)
		if n := r.logs.FilterMessage("Lane restored from the journal").Len(); n != 1 {
			t.Fatalf("got %d lanes restored from the journal: %v", n, r.logs.All())
		}
		if rv := stateOf(t, lane).RV(); rv != 6 {
			t.Errorf("got resourceVersion %d, want 6", rv)
		}
		if diff := cmp.Diff([]string{"ns/a@6", "ns/c@4"}, contents(t, lane)); diff != "" {
			t.Error(diff)
		}
		if lane.Bookmark() == nil || !lane.Marked() {
			t.Error("got no bookmark")
		}
		watcher, err := lane.Cache.Watch(cache.WatchOptions{Predicate: lane.Kind().Predicate("", nil, nil), Start: cache.AfterRV(4)})
		if err != nil {
			t.Fatal(err)
		}
		defer watcher.Close()
		r.Put("ns/d", "1")
		synctest.Wait()
		for _, want := range []cache.RV{5, 6, 7} {
			if event, ok := watcher.Next(); !ok || event.RV != want {
				t.Errorf("got event %+v, want one at %d", event, want)
			}
		}
	})
}

// TestAgeIsThatOfTheRecordsRead: if the end of the journal is damaged, the age of the last record before the damage
// decides whether the objects are compared with the upstream's.
func TestAgeIsThatOfTheRecordsRead(t *testing.T) {
	whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
		r.Put("ns/b", "1")
		elapse(2 * trustedAge)
		for _, key := range []string{"ns/c", "ns/d"} {
			r.Put(key, "1")
			elapse(2 * recordEvery)
		}
		r.stop()
		damageFirst(t, config, "ns/c")
		r.noRollCalls()
		r.start(t, config)
		r.synced(t)
		if reasons := r.notUsed(); len(reasons) != 1 || !strings.Contains(reasons[0], "list the upstream's objects") {
			t.Errorf("got the refusals %q, want one because the objects could not be compared", reasons)
		}
	})
}

// TestCheckpointIsRestoredWithoutItsEvents: if the first event after a checkpoint is damaged or torn, the lane is
// restored from the checkpoint, and receives the events from the upstream.
func TestCheckpointIsRestoredWithoutItsEvents(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, config Config, file string, content []byte){
		"damaged event": func(t *testing.T, config Config, _ string, _ []byte) { damageFirst(t, config, "ns/b") },
		"damaged event of a process that was killed": func(t *testing.T, config Config, file string, content []byte) {
			cut(t, file, bytes.LastIndex(content, []byte("lfjb"))) // the block that ends the segment
			damageFirst(t, config, "ns/b")
		},
		"damaged header of the event's block": func(t *testing.T, _ Config, file string, content []byte) {
			content[bytes.LastIndex(content[:bytes.Index(content, []byte("ns/b"))], []byte("lfjb"))] ^= 1
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"torn event": func(t *testing.T, _ Config, file string, content []byte) {
			cut(t, file, bytes.Index(content, []byte("ns/b")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			whileRecording(t, nil, func(t *testing.T, r *rig, config Config) {
				for _, key := range []string{"ns/b", "ns/c"} {
					r.Put(key, "1")
					elapse(2 * recordEvery)
				}
				r.stop()
				file := segmentOf(t, config)
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				spoil(t, config, file, content)
				lists := r.Asked(testkit.AskList) + r.Asked(testkit.AskStreaming)
				r.start(t, config)
				lane := r.synced(t)
				if n := r.Asked(testkit.AskList) + r.Asked(testkit.AskStreaming) - lists; n != 0 {
					t.Errorf("got %d lists of the upstream, want none: %q", n, r.notUsed())
				}
				if diff := cmp.Diff([]string{"ns/a@2", "ns/b@3", "ns/c@4"}, contents(t, lane)); diff != "" {
					t.Error(diff)
				}
				for _, entry := range r.logs.FilterMessage("Lane restored from the journal").All() {
					if rv := entry.ContextMap()["resourceVersion"]; rv != uint64(2) {
						t.Errorf("got version %v in the log, want that of the checkpoint, 2", rv)
					}
				}
			})
		})
	}
}

func cut(t *testing.T, file string, at int) {
	t.Helper()
	if err := os.Truncate(file, int64(at)); err != nil {
		t.Fatal(err)
	}
}

// TestSlowRestoreContinuesWithProgress checks that a restore may take longer than restoreWait while it makes progress.
func TestSlowRestoreContinuesWithProgress(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		const page = `{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"6","continue":%q},"items":[` +
			`{"metadata":{"namespace":"ns","name":%q,"resourceVersion":%q}}]}`
		r.Script(testkit.AskRoll, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(restoreWait * 2 / 3)
			if request.URL.Query().Get("continue") == "" {
				text(fmt.Sprintf(page, "c", "a", "6"))(w, request)
			} else {
				text(fmt.Sprintf(page, "", "c", "4"))(w, request)
			}
		})
		elapse(2 * trustedAge)
		r.start(t, config)
		began := time.Now()
		r.synced(t)
		if n := r.logs.FilterMessage("Lane restored from the journal").Len(); n != 1 || time.Since(began) < restoreWait {
			t.Errorf("got %d lanes restored from the journal after %v: %v", n, time.Since(began), r.logs.All())
		}
	})
}

// TestSegmentsStayWhileALaneIsRestored checks that a lane is restored although its segments exceed the limit, and that
// they are removed afterwards.
func TestSegmentsStayWhileALaneIsRestored(t *testing.T) {
	inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
		r.Script(testkit.AskWatch, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(3 * recordEvery) // meanwhile, segments are removed
			r.Truth(w, request)
		})
		before := segmentOf(t, config)
		config.Journal.MaxBytes = 1
		r.start(t, config)
		r.synced(t)
		if n := r.logs.FilterMessage("Lane restored from the journal").Len(); n != 1 {
			t.Errorf("got %d lanes restored from the journal: %v", n, r.logs.All())
		}
		elapse(2 * retainEvery)
		if after := segmentOf(t, config); after == before {
			t.Errorf("got %s, want that it was removed", after)
		}
	})
}

// TestRefusedJournalLeavesNothing checks that a refused journal has no effect on the lane, which is then listed and
// filled.
func TestRefusedJournalLeavesNothing(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, refuse := range map[string]func(t *testing.T, r *rig, file string){
		"cut short": func(t *testing.T, _ *rig, file string) {
			if err := os.Truncate(file, 100); err != nil {
				t.Fatal(err)
			}
		},
		"another object": func(_ *testing.T, r *rig, _ string) {
			r.Script(testkit.AskRoll, text(`{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"6"},"items":[`+
				`{"metadata":{"namespace":"ns","name":"a","resourceVersion":"5"}},{"metadata":{"namespace":"ns","name":"c","resourceVersion":"4"}}]}`))
		},
		"a backup": func(_ *testing.T, r *rig, _ string) { r.Restore(2) },
		"a watch that is expired": func(_ *testing.T, r *rig, _ string) {
			r.Script(testkit.AskWatch, testkit.Refuse(http.StatusGone, "Expired"))
		},
		"a watch without answer": func(_ *testing.T, r *rig, _ string) { r.Script(testkit.AskWatch, hang) },
		"names without answer":   func(_ *testing.T, r *rig, _ string) { r.Script(testkit.AskRoll, hang) },
		"other names": func(_ *testing.T, r *rig, _ string) {
			r.Script(testkit.AskRoll, text(`{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"6"},"items":[`+
				`{"metadata":{"namespace":"ns","name":"a","resourceVersion":"6"}}]}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSecondProcess(t, func(t *testing.T, r *rig, config Config) {
				elapse(2 * trustedAge)
				refuse(t, r, segmentOf(t, config))
				var listed []prints
				for _, dir := range []string{"", config.Journal.Dir} {
					config.Journal.Dir = dir
					r.start(t, config)
					began := time.Now()
					listed = append(listed, r.firstListed(t))
					if took := time.Since(began); took > restoreWait+time.Minute {
						t.Errorf("got a filled lane after %v", took)
					}
					if n := r.logs.FilterMessage("Journal of the lane not used").Len(); (n > 0) != (dir != "") {
						t.Errorf("got %d journals not used: %v", n, r.logs.All())
					}
					r.stop()
				}
				if diff := cmp.Diff(listed[0], listed[1]); diff != "" {
					t.Errorf("lane without (-) and with (+) a refused journal:\n%s", diff)
				}
			})
		})
	}
}

// firstListed fills a lane, and returns what there was of it when it was first asked for a list.
func (r *rig) firstListed(t *testing.T) (found prints) {
	t.Helper()
	var lane *Reflector
	var once sync.Once
	started := make(chan struct{})
	r.Script(testkit.AskList, func(w http.ResponseWriter, request *http.Request) {
		<-started
		once.Do(func() { found = lane.prints() })
		r.Truth(w, request)
	})
	lane = r.lane(t)
	close(started)
	r.synced(t)
	return found
}

// TestClockThatWentBack: the clock of the second process is two hours behind. The journal is used after the names were
// compared, and continues in the order of versions.
func TestClockThatWentBack(t *testing.T) {
	config := Config{Journal: Journal{Dir: filepath.Join(t.TempDir(), "journal")}, Packing: cache.Packing{From: 1}}
	began := func(t *testing.T) *rig { // each bubble begins at the same time
		r := newRig(t, configMaps, config)
		r.isVersion("v1.37.1")
		r.isCluster("1")
		r.Put("ns/a", "1")
		return r
	}
	bubble.Test(t, func(t *testing.T) {
		r := began(t)
		r.synced(t)
		elapse(2 * time.Hour)
		r.Put("ns/b", "1")
		elapse(2 * recordEvery)
		r.stop()
	})
	bubble.Test(t, func(t *testing.T) {
		r := began(t)
		r.Put("ns/b", "1")
		r.synced(t)
		if n := r.logs.FilterMessage("Lane restored from the journal").Len(); n != 1 || r.Asked(testkit.AskRoll) == 0 {
			t.Fatalf("got %d lanes restored and %d lists of names, want 1 and some: %q", n, r.Asked(testkit.AskRoll), r.notUsed())
		}
		r.Put("ns/c", "1")
		elapse(2 * recordEvery)
		wantWritten(t, config, "-- 2", "has ns/a@2", "upsert ns/b@3", "== 3", "has ns/a@2", "has ns/b@3", "upsert ns/c@4")
	})
}
