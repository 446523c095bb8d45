package replay

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/testkit"
)

// shop writes the journal of two ConfigMaps: a from version 90, changed at 105 and 120, and b from 110 to 130.
func shop(t *testing.T) *writer {
	t.Helper()
	w := newWriter(t)
	w.begin(configMaps, 100, journal.Position{}, configMaps.record(t, journal.Object, "a", 90))
	w.add(configMaps,
		configMaps.record(t, journal.Upsert, "a", 105), configMaps.record(t, journal.Upsert, "b", 110),
		configMaps.record(t, journal.Upsert, "a", 120), configMaps.record(t, journal.Delete, "b", 130), progress(140))
	return w
}

func TestListIsThatOfTheMoment(t *testing.T) {
	w := shop(t)
	w.close()
	for _, test := range []struct {
		moment, version string
		want            []string // name=data
	}{
		{"100", "100", []string{"a=90"}},
		{"104", "104", []string{"a=90"}},
		{"105", "105", []string{"a=105"}},
		{"110", "110", []string{"a=105", "b=110"}},
		{"129", "129", []string{"a=120", "b=110"}},
		{"130", "130", []string{"a=120"}},
		{at(112).Format(time.RFC3339), "110", []string{"a=105", "b=110"}},
		{at(120).Format(time.RFC3339), "120", []string{"a=120", "b=110"}},
		{at(139).Format(time.RFC3339), "130", []string{"a=120"}},
		{at(150).Format(time.RFC3339), "140", []string{"a=120"}},
		{"1000", "140", []string{"a=120"}},
	} {
		t.Run(test.moment, func(t *testing.T) {
			s := serve(t, w.dir, test.moment)
			response, body := s.get(t, "/api/v1/configmaps")
			if response.StatusCode != http.StatusOK || !strings.Contains(body, `{"resourceVersion":"`+test.version+`"}`) {
				t.Errorf("got %d %s, want version %s", response.StatusCode, body, test.version)
			}
			if warning := response.Header.Get("Warning"); warning != "" {
				t.Errorf("got warning %s, want none", warning)
			}
			for _, want := range test.want {
				name, data, _ := strings.Cut(want, "=")
				_, one := s.get(t, "/api/v1/namespaces/shop/configmaps/"+name)
				if !strings.Contains(one, `"v":"`+data+`"`) || !strings.Contains(body, `"name":"`+name+`"`) {
					t.Errorf("got %s in %s, want %s", one, body, want)
				}
			}
			if got := strings.Count(body, `"name":`); got != len(test.want) {
				t.Errorf("got %d objects, want %d: %s", got, len(test.want), body)
			}
		})
	}
}

func TestSelectorsAndPages(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "112")
	if _, body := s.get(t, "/api/v1/configmaps?labelSelector=app%3Db"); strings.Contains(body, `"name":"a"`) || !strings.Contains(body, `"name":"b"`) {
		t.Errorf("got %s, want b only", body)
	}
	_, body := s.get(t, "/api/v1/configmaps?limit=1")
	_, rest, ok := strings.Cut(body, `"continue":"`)
	token, _, _ := strings.Cut(rest, `"`)
	if !ok || strings.Contains(body, `"name":"b"`) {
		t.Fatalf("got %s, want one object and a continue token", body)
	}
	if _, body = s.get(t, "/api/v1/configmaps?limit=1&continue="+token); !strings.Contains(body, `"name":"b"`) {
		t.Errorf("got %s, want b", body)
	}
}

// All lanes have the newest version of any lane, although the others have no event of it.
func TestLanesHaveOneVersion(t *testing.T) {
	pods := kindOf("", "v1", "pods", "Pod")
	w := shop(t)
	w.begin(pods, 98, journal.Position{}, pods.record(t, journal.Object, "p", 98))
	w.add(pods, pods.record(t, journal.Upsert, "p", 119), progress(140))
	w.close()
	s := serve(t, w.dir, at(119).Format(time.RFC3339))
	for _, path := range []string{"/api/v1/configmaps", "/api/v1/pods"} {
		if _, body := s.get(t, path); !strings.Contains(body, `{"resourceVersion":"119"}`) {
			t.Errorf("%s: got %s, want version 119", path, body)
		}
	}
}

func TestMomentInAHoleHasAWarning(t *testing.T) {
	w := shop(t)
	w.begin(configMaps, 160, journal.Position{}, configMaps.record(t, journal.Object, "c", 150))
	w.add(configMaps, progress(170))
	w.close()
	response, body := serve(t, w.dir, "150").get(t, "/api/v1/configmaps")
	want := `299 - "the journal does not have configmaps after resourceVersion 140 of 2026-01-31T03:47:40Z until 160 of 2026-01-31T03:48:00Z"`
	if warning := response.Header.Get("Warning"); warning != want {
		t.Errorf("got warning %s, want %s", warning, want)
	}
	if !strings.Contains(body, `{"resourceVersion":"140"}`) || !strings.Contains(body, `"name":"a"`) {
		t.Errorf("got %s, want the content at 140", body)
	}
	if response, body := serve(t, w.dir, "160").get(t, "/api/v1/configmaps"); response.Header.Get("Warning") != "" || !strings.Contains(body, `"name":"c"`) {
		t.Errorf("after the hole: got %s, want c without a warning", body)
	}
}

// The lane of a hole may have the newest version of all lanes.
func TestTimeInAHoleHasAWarning(t *testing.T) {
	w := shop(t)
	w.begin(configMaps, 160, journal.Position{}, configMaps.record(t, journal.Object, "c", 150))
	w.add(configMaps, progress(170))
	w.close()
	s := serve(t, w.dir, "100")
	check := func(s *server, want string) {
		t.Helper()
		response, _ := s.get(t, "/api/v1/configmaps")
		if warning := response.Header.Get("Warning"); !strings.Contains(warning, want) || want == "" && warning != "" {
			t.Errorf("got warning %q, want %q", warning, want)
		}
	}
	for _, test := range []struct {
		rv   uint64
		want string
	}{
		{140, ""},
		{155, "after resourceVersion 140 of 2026-01-31T03:47:40Z until 160 of 2026-01-31T03:48:00Z"},
		{160, ""},
		{180, ""},
		{300, "after resourceVersion 170 of 2026-01-31T03:48:10Z"},
	} {
		check(serve(t, w.dir, at(test.rv).Format(time.RFC3339)), test.want)
		s.player.advance(at(test.rv))
		check(s, test.want)
	}
}

// After a restore of etcd from a backup, resourceVersions repeat. A replay of an earlier moment ends there.
func TestRestoredClusterIsNotPartOfEarlierMoments(t *testing.T) {
	w := shop(t)
	w.beginAt(at(200), configMaps, 110, journal.Position{}, configMaps.record(t, journal.Object, "restored", 104))
	pods := kindOf("", "v1", "pods", "Pod")
	w.beginAt(at(200), pods, 112, journal.Position{}, pods.record(t, journal.Object, "p", 104))
	w.close()
	played := serve(t, w.dir, at(100).Format(time.RFC3339))
	for _, rv := range []uint64{115, 141, 300} {
		played.player.advance(at(rv))
		replays := []*server{played}
		if rv < 200 {
			replays = append(replays, serve(t, w.dir, at(rv).Format(time.RFC3339)))
		}
		for _, s := range replays {
			if _, body := s.get(t, "/api/v1/configmaps"); strings.Contains(body, `"restored"`) || !strings.Contains(body, `"name":"a"`) {
				t.Errorf("%d: got %s, want the content before the restore", rv, body)
			}
		}
		if _, body := played.get(t, "/api/v1/pods"); strings.Contains(body, `"name":"p"`) != (rv > 200) {
			t.Errorf("%d: got %s, want pods only after the restore", rv, body)
		}
	}
	if _, body := serve(t, w.dir, at(201).Format(time.RFC3339)).get(t, "/api/v1/configmaps"); !strings.Contains(body, `"restored"`) {
		t.Errorf("got %s, want the restored content", body)
	}
}

// There is no hole before a segment that continues the previous segment.
func TestSegmentContinues(t *testing.T) {
	w := shop(t)
	_, lane := w.lane(configMaps)
	w.begin(configMaps, 140, lane.Position(), configMaps.record(t, journal.Object, "a", 120))
	w.add(configMaps, configMaps.record(t, journal.Upsert, "a", 145))
	w.begin(configMaps, 150, lane.Position(), configMaps.record(t, journal.Object, "a", 145)) // without an event since 145
	w.add(configMaps, configMaps.record(t, journal.Upsert, "a", 155))
	w.close()
	for _, rv := range []string{"139", "140", "144", "145", "148", "150", "155"} {
		response, body := serve(t, w.dir, rv).get(t, "/api/v1/configmaps")
		if response.Header.Get("Warning") != "" || !strings.Contains(body, `{"resourceVersion":"`+rv+`"}`) {
			t.Errorf("%s: got %s with warning %q, want none", rv, body, response.Header.Get("Warning"))
		}
	}
}

// Tables have the recorded columns, and ages relative to the moment.
func TestAgesAreThoseOfTheMoment(t *testing.T) {
	printed := configMaps
	printed.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
	printed.columns = `[{"name":"Name","type":"string","format":"name","description":"","priority":0},{"name":"Age","type":"string","format":"","description":"","priority":0}]`
	w := newWriter(t)
	w.begin(printed, 100, journal.Position{}, printed.record(t, journal.Object, "a", 90))
	w.close()
	s := serve(t, w.dir, "100")
	if _, body := s.get(t, "/api/v1/configmaps", printed.accept); !strings.Contains(body, `"cells":["a","60s"]`) {
		t.Errorf("got %s, want an age of 60s", body)
	}
}

// Another kube-apiserver may print other columns. The replay then has the new columns, and ends watches.
func TestColumnsChangeWithTheRecordedVersion(t *testing.T) {
	before := configMaps
	before.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
	before.columns = `[{"name":"Name","type":"string","format":"name","description":"","priority":0},{"name":"Age","type":"string","format":"","description":"","priority":0}]`
	after := before
	after.columns = strings.Replace(before.columns, "Name", "Full Name", 1)
	w := newWriter(t)
	w.begin(before, 100, journal.Position{}, before.record(t, journal.Object, "a", 90))
	w.begin(after, 110, journal.Position{}, after.record(t, journal.Object, "a", 90))
	w.close()
	s := serve(t, w.dir, "100")
	columns := func(name string) {
		t.Helper()
		if _, body := s.get(t, "/api/v1/configmaps", before.accept); !strings.Contains(body, `"name":"`+name+`"`) {
			t.Errorf("got %s, want the column %s", body, name)
		}
	}
	columns("Name")
	s.player.advance(at(110))
	columns("Full Name")
	if _, body := s.get(t, "/api/v1/configmaps?watch=1&resourceVersion=100&timeoutSeconds=1"); !strings.Contains(body, `"code":410`) {
		t.Errorf("watch from before: got %s, want 410", body)
	}
}

func TestWatchReceivesRecordedEvents(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "100")
	next := s.watch(t, "/api/v1/configmaps?watch=1&resourceVersion=100")
	s.player.advance(at(110))
	if got, want := next(2), "MODIFIED a 105,ADDED b 110"; got != want {
		t.Errorf("got %q, want %s", got, want)
	}
	s.player.advance(at(130))
	if got, want := next(2), "MODIFIED a 120,DELETED b 130"; got != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

func TestTimePasses(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "100", func(o *Options) { o.Frozen, o.Speed = false, 1000 })
	testkit.Eventually(t, "the last recorded version", func() error {
		if _, body := s.get(t, "/api/v1/configmaps"); !strings.Contains(body, `{"resourceVersion":"140"}`) {
			return errors.New(body)
		}
		return nil
	})
}

// A replay that plays has, at each moment, the content of a replay that was opened there.
func TestPlayedContentIsThatOfTheMoment(t *testing.T) {
	w := shop(t)
	w.begin(configMaps, 160, journal.Position{}, configMaps.record(t, journal.Object, "c", 150))
	w.add(configMaps, configMaps.record(t, journal.Upsert, "c", 165))
	w.close()
	played := serve(t, w.dir, "100")
	for rv := uint64(101); rv <= 170; rv++ {
		played.player.advance(at(rv))
		_, got := played.get(t, "/api/v1/configmaps")
		_, want := serve(t, w.dir, at(rv).Format(time.RFC3339)).get(t, "/api/v1/configmaps")
		if got != want {
			t.Errorf("%d: got %s, want %s", rv, got, want)
		}
	}
	if played.player.version != 165 {
		t.Errorf("got version %d at the end, want 165", played.player.version)
	}
}

// A watch across a hole receives the differences.
func TestWatchReceivesDifferencesAfterAHole(t *testing.T) {
	w := shop(t)
	w.begin(configMaps, 160, journal.Position{}, configMaps.record(t, journal.Object, "c", 150))
	w.close()
	s := serve(t, w.dir, "135")
	next := s.watch(t, "/api/v1/configmaps?watch=1&resourceVersion=135")
	s.player.advance(at(160))
	if got := next(2); !strings.Contains(got, "DELETED a") || !strings.Contains(got, "ADDED c 150") {
		t.Errorf("got %s, want a deleted and c added", got)
	}
}

func TestOlderVersionsAreRefused(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "120")
	for _, query := range []string{"resourceVersion=110&resourceVersionMatch=Exact", "resourceVersion=110&limit=1"} {
		if response, body := s.get(t, "/api/v1/configmaps?"+query); response.StatusCode != http.StatusGone || !strings.Contains(body, "--at") {
			t.Errorf("%s: got %d %s, want 410", query, response.StatusCode, body)
		}
	}
	if _, body := s.get(t, "/api/v1/configmaps?watch=1&resourceVersion=110&timeoutSeconds=1"); !strings.Contains(body, `"code":410`) {
		t.Errorf("watch: got %s, want 410", body)
	}
	if _, body := s.get(t, "/api/v1/configmaps?resourceVersion="+strconv.Itoa(1<<40)); !strings.Contains(body, "Too large resource version") {
		t.Errorf("later version: got %s", body)
	}
}
