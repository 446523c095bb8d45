package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/internal/journal"
)

// shop writes a journal with one object of each fate between the versions 110 and 120, in the given way.
func shop(t *testing.T, prepare func(*lane), between func(*lane)) string {
	j, dir := tempJournal(t)
	l := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	prepare(l)
	l.put(configMap("shop", "same", "1", 90, ``), configMap("shop", "gone", "2", 91, ``),
		configMap("shop", "web", "3", 92, `"a":"1"`),
		configMap("shop", "again", "4", 93, `"a":"1"`), configMap("shop", "back", "5", 94, `"a":"1"`))
	l.begin(100, journal.Position{})
	l.upsert(configMap("shop", "web", "3", 105, `"a":"2"`))
	l.upsert(configMap("other", "early", "6", 106, ``))
	l.upsert(configMap("shop", "web", "3", 111, `"a":"3"`))
	l.remove(configMap("shop", "gone", "2", 112, ``))
	l.remove(configMap("shop", "again", "4", 113, `"a":"1"`))
	between(l)
	l.upsert(configMap("shop", "again", "7", 114, `"a":"2"`))
	l.upsert(configMap("other", "new", "8", 115, `"x":"y"`))
	l.upsert(configMap("shop", "back", "5", 116, `"a":"2"`))
	l.upsert(configMap("shop", "back", "5", 117, `"a":"1"`))
	l.upsert(configMap("shop", "web", "3", 118, `"a":"4","b":"1"`))
	l.upsert(configMap("shop", "late", "9", 121, ``))
	l.progress(195)
	return dir
}

func nothing(*lane) {}

var wantShop = []string{
	"created configmaps other new 2026-11-26T03:47:15.000Z writer-115 <none>",
	"replaced configmaps shop again 2026-11-26T03:47:14.000Z writer-114 data.a: 1 -> 2, metadata.uid: 4 -> 7",
	"deleted configmaps shop gone 2026-11-26T03:47:12.000Z <none> <none>",
	"changed configmaps shop web 2026-11-26T03:47:18.000Z writer-118 data.a: 2 -> 4, +data.b: 1",
}

func TestDiffShowsChangesBetweenMoments(t *testing.T) {
	for name, c := range map[string]struct{ prepare, between func(*lane) }{
		"in one segment":    {nothing, nothing},
		"over two segments": {nothing, func(l *lane) { l.next(113) }},
		"packed": {func(l *lane) {
			var texts []string
			for i := range 50 {
				texts = append(texts, configMap("n", fmt.Sprint("name-", i), "1", 1, strings.Repeat(`"abc":"def",`, 20)+`"z":""`))
			}
			l.pack(texts...)
		}, func(l *lane) { l.next(113) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shop(t, c.prepare, c.between)
			for _, from := range []string{"110", "2026-11-26T03:47:10.500Z", "90s"} {
				if diff := cmp.Diff(wantShop, rows(diffed(t, table(dir, from, "120")))); diff != "" {
					t.Errorf("from %s (-want +got):\n%s", from, diff)
				}
			}
		})
	}
}

// An event at the beginning of a period happened before it, and one at its end in it.
func TestPeriodBeginsAfterItsFirstVersion(t *testing.T) {
	dir := shop(t, nothing, nothing)
	got := rows(diffed(t, table(dir, "111", "118"), "configmaps/web"))
	want := []string{"changed configmaps shop web 2026-11-26T03:47:18.000Z writer-118 data.a: 3 -> 4, +data.b: 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffSelects(t *testing.T) {
	dir := shop(t, nothing, nothing)
	for name, c := range map[string]struct {
		o    options
		args []string
		want []string
	}{
		"a namespace":        {options{namespace: "other"}, nil, []string{"other new"}},
		"labels":             {options{selector: "app in (gone, new)"}, nil, []string{"other new", "shop gone"}},
		"a resource":         {options{selector: "app=gone"}, []string{"configmaps"}, []string{"shop gone"}},
		"an object":          {options{}, []string{"configmaps/web"}, []string{"shop web"}},
		"an object in words": {options{}, []string{"configmaps", "web"}, []string{"shop web"}},
		"nothing":            {options{namespace: "empty"}, nil, nil},
	} {
		c.o.dir, c.o.from, c.o.to, c.o.output = dir, "110", "120", "table"
		var got []string
		for _, row := range rows(diffed(t, c.o, c.args...)) {
			got = append(got, strings.Join(strings.Fields(row)[2:4], " "))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// In a hole, objects may have been created, changed and deleted without an event.
func TestDiffShowsHoles(t *testing.T) {
	j, dir := tempJournal(t)
	l := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	l.put(configMap("shop", "same", "1", 90, ``), configMap("shop", "gone", "2", 91, ``), configMap("shop", "web", "3", 92, `"a":"1"`))
	l.begin(100, journal.Position{})
	l.upsert(configMap("shop", "first", "4", 111, ``))
	l.put(configMap("shop", "web", "3", 113, `"a":"2"`), configMap("shop", "new", "5", 114, ``))
	delete(l.objects, "shop/gone")
	l.begin(115, journal.Position{})
	l.upsert(configMap("shop", "last", "6", 119, ``))
	l.progress(195)
	want := []string{
		"created configmaps shop first 2026-11-26T03:47:11.000Z writer-111 <none>",
		"deleted configmaps shop gone <none> <none> (changed in a hole)",
		"created configmaps shop last 2026-11-26T03:47:19.000Z writer-119 <none>",
		"created configmaps shop new <none> writer-114 (changed in a hole)",
		"changed configmaps shop web <none> writer-113 data.a: 1 -> 2, (changed in a hole)",
		"hole configmaps <none> <none> 2026-11-26T03:47:15.000Z <none> the journal may lack events: " +
			"from 2026-11-26T03:47:11.000Z to 2026-11-26T03:47:15.000Z",
	}
	if diff := cmp.Diff(want, rows(diffed(t, table(dir, "110", "120")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := diffed(t, table(dir, "116", "120")); strings.Contains(got, "hole") {
		t.Errorf("got a hole before the period:\n%s", got)
	}
}

// A lane that is recorded during a part of the period only is compared in that part.
func TestDiffShowsWhatIsNotRecorded(t *testing.T) {
	j, dir := tempJournal(t)
	l := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	l.begin(100, journal.Position{})
	l.progress(101)
	other := newLane(t, j, "services..v1.json", "/v1, Resource=services", "ServiceList")
	other.put(strings.Replace(configMap("shop", "web", "1", 90, ``), "ConfigMap", "Service", 1))
	other.begin(150, journal.Position{})
	other.remove(strings.Replace(configMap("shop", "web", "1", 151, ``), "ConfigMap", "Service", 1))
	other.progress(195)
	o := table(dir, "2026-11-26T03:47:01Z", "2026-11-26T04:47:00Z")
	want := []string{
		"deleted services shop web 2026-11-26T03:47:51.000Z <none> <none>",
		"hole configmaps <none> <none> 2026-11-26T04:47:00.000Z <none> not recorded afterwards: " +
			"from 2026-11-26T03:47:01.000Z to 2026-11-26T04:47:00.000Z",
		"hole services <none> <none> 2026-11-26T04:47:00.000Z <none> not recorded afterwards: " +
			"from 2026-11-26T03:48:35.000Z to 2026-11-26T04:47:00.000Z",
		"hole services <none> <none> 2026-11-26T03:47:50.000Z <none> not recorded before: " +
			"from 2026-11-26T03:47:01.000Z to 2026-11-26T03:47:50.000Z",
	}
	if diff := cmp.Diff(want, rows(diffed(t, o))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Other lanes show until when the journal of a lane should go.
func TestVersionAfterTheEndOfALaneIsAHole(t *testing.T) {
	j, dir := tempJournal(t)
	ended := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	ended.begin(100, journal.Position{})
	ended.progress(101)
	continued := newLane(t, j, "pods..v1.json", "/v1, Resource=pods", "PodList")
	continued.begin(100, journal.Position{})
	continued.progress(101)
	continued.next(400)
	other := newLane(t, j, "services..v1.json", "/v1, Resource=services", "ServiceList")
	other.begin(100, journal.Position{})
	other.progress(300)
	want := []string{"hole configmaps <none> <none> 2026-11-26T03:50:20.000Z <none> not recorded afterwards: " +
		"from 2026-11-26T03:47:01.000Z to 2026-11-26T03:50:20.000Z"}
	for _, to := range []string{"300", "2026-11-26T03:50:20Z"} {
		if diff := cmp.Diff(want, rows(diffed(t, table(dir, "100", to)))); diff != "" {
			t.Errorf("to %s (-want +got):\n%s", to, diff)
		}
	}
	if got, want := diffed(t, table(dir, "100", "101")), "No changes.\n"; got != want {
		t.Errorf("to 101: got %q, want %q", got, want)
	}
}

// Many resources that are recorded during a part of the period only are one line.
func TestTableGathersHoles(t *testing.T) {
	j, dir := tempJournal(t)
	for i := range manyHoles {
		l := newLane(t, j, fmt.Sprint("lane-", i), fmt.Sprintf("ex.io/v1, Resource=lane%d", i), "List")
		l.begin(110+uint64(i), journal.Position{})
		l.progress(195)
	}
	want := []string{"hole (4 holes) <none> <none> 2026-11-26T03:47:13.000Z <none> " +
		"not recorded before: from 2026-11-26T03:47:00.000Z to 2026-11-26T03:47:13.000Z"}
	if diff := cmp.Diff(want, rows(diffed(t, table(dir, "2026-11-26T03:47:00Z", "now")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Segments that the journal removes while they are read are a hole, or the period begins later.
func TestRemovedSegmentsAreTolerated(t *testing.T) {
	dir := shop(t, nothing, func(l *lane) { l.next(113) })
	o := table(dir, "110", "120")
	p, _, err := o.open(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := p.spans()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(spans[0].segments[0].Path); err != nil {
		t.Fatal(err)
	}
	f := filter{labels: labels.Everything()}
	var got []string
	err = p.retrying(spans[0], func(s *span) error {
		return p.diff(t.Context(), s, &f, func(e *Entry) error {
			got = append(got, fmt.Sprint(e.Type, " ", e.Name, e.Note))
			return nil
		})
	})
	want := []string{"created new", "created again", "changed web", "hole not recorded before"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got %v (-want +got):\n%s", err, diff)
	}
}

// A damaged block is a hole up to the next segment, or up to the end.
func TestDiffShowsDamageAsHole(t *testing.T) {
	for name, c := range map[string]struct {
		between func(*lane)
		want    string
	}{
		"before a segment": {func(l *lane) { l.next(113) }, "2026-11-26T03:47:13.000Z <none> " +
			"the journal may lack events: from 2026-11-26T03:47:12.000Z to 2026-11-26T03:47:13.000Z"},
		"before the end": {nothing, "2026-11-26T03:48:35.000Z <none> " +
			"the journal is damaged: from 2026-11-26T03:47:18.000Z to 2026-11-26T03:48:35.000Z"},
	} {
		dir := shop(t, nothing, c.between)
		damage(t, dir, lastEvent)
		want := append(slices.Clone(wantShop), "hole configmaps <none> <none> "+c.want)
		if diff := cmp.Diff(want, rows(diffed(t, table(dir, "110", "120")))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// If the first event is damaged, the checkpoint before the event counts.
func TestDiffUsesTheCheckpointBeforeDamage(t *testing.T) {
	dir := shop(t, nothing, func(l *lane) { l.next(113) })
	damage(t, dir, func(content []byte) int { return bytes.Index(content, []byte(blockMagic+"\x05")) + blockHeader })
	want := []string{
		"created configmaps other early <none> writer-106 (changed in a hole)",
		wantShop[0], wantShop[1],
		"deleted configmaps shop gone <none> <none> (changed in a hole)",
		strings.Replace(wantShop[3], "2 -> 4", "1 -> 4", 1),
		"hole configmaps <none> <none> 2026-11-26T03:47:13.000Z <none> " +
			"the journal may lack events: from 2026-11-26T03:47:00.000Z to 2026-11-26T03:47:13.000Z",
	}
	if diff := cmp.Diff(want, rows(diffed(t, table(dir, "110", "120")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file of a wrong type in place of a segment is a hole.
func TestDiffShowsPipeAsHole(t *testing.T) {
	dir := shop(t, nothing, func(l *lane) { l.next(113); l.next(113) })
	segments, err := journal.Segments(dir, "configmaps..v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(segments[1].Path), syscall.Mkfifo(segments[1].Path, 0o600)); err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(wantShop), "hole configmaps <none> <none> 2026-11-26T03:47:13.000Z <none> "+
		"the journal may lack events: from 2026-11-26T03:47:13.000Z to 2026-11-26T03:47:13.000Z")
	if diff := cmp.Diff(want, rows(diffed(t, table(dir, "110", "120")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The headers of blocks, as in internal/journal/doc.go.
const (
	blockMagic  = "lfjb"
	blockHeader = 72
)

// lastEvent returns the offset of the content of the second last block, if every event has a block.
func lastEvent(content []byte) int {
	end := bytes.LastIndex(content, []byte(blockMagic))
	return bytes.LastIndex(content[:end], []byte(blockMagic)) + blockHeader
}

// damage changes a byte of the first segment.
func damage(t *testing.T, dir string, at func(content []byte) int) {
	t.Helper()
	segments, err := journal.Segments(dir, "configmaps..v1.json")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(segments[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	content[at(content)] ^= 1
	if err := os.WriteFile(segments[0].Path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDiffRefuses(t *testing.T) {
	dir := shop(t, nothing, nothing)
	for name, c := range map[string]struct {
		o    options
		args []string
		want string
	}{
		"a period that ends before it begins": {table(dir, "120", "110"), nil, ErrOrder.Error()},
		"no moment":                           {table(dir, "yesterday", "now"), nil, "--from: "},
		"another format":                      {options{dir: dir, from: "110", to: "now", output: "xml"}, nil, "--output"},
		"a resource that is not recorded":     {table(dir, "110", "now"), []string{"pods"}, ErrNotRecorded.Error()},
		"Secrets":                             {table(dir, "110", "now"), []string{"secrets"}, "never"},
		"a selector":                          {options{dir: dir, from: "110", to: "now", output: "table", selector: "!"}, nil, "--selector"},
		"an empty name":                       {table(dir, "110", "now"), []string{"pods/"}, errTarget.Error()},
		"an empty directory":                  {table(t.TempDir(), "110", "now"), nil, ErrNoJournal.Error()},
	} {
		err := c.o.diff(t.Context(), c.args, now, new(strings.Builder))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if err := (&options{dir: dir, to: "now", output: "table", namespace: "shop"}).log(t.Context(), []string{"configmaps/no"}, now,
		new(strings.Builder)); !errors.Is(err, ErrNoObject) {
		t.Errorf("got %v, want %v", err, ErrNoObject)
	}
}
