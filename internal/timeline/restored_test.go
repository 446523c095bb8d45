package timeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/journal"
)

// restored writes the journal of a cluster with version 140 that is restored to version 110 at 03:47:50.
func restored(t *testing.T) string {
	j, dir := tempJournal(t)
	l := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	l.put(configMap("shop", "web", "1", 92, `"a":"1"`))
	l.begin(100, journal.Position{})
	l.upsert(configMap("shop", "web", "1", 105, `"a":"2"`))
	l.upsert(configMap("shop", "web", "1", 130, `"a":"3"`))
	l.progress(140)
	l.put(configMap("shop", "web", "1", 105, `"a":"2"`))
	l.later = 40 * time.Second
	l.begin(110, journal.Position{})
	l.upsert(configMap("shop", "web", "1", 112, `"a":"9"`))
	l.progress(120)
	l.progress(155)
	return dir
}

// After a restore of etcd from a backup, events have lower resourceVersions than those before.
func TestRestoredClusterIsCompared(t *testing.T) {
	dir := restored(t)
	const lost = "the journal may lack events: from 2026-11-26T03:47:40.000Z to 2026-11-26T03:47:50.000Z"
	for period, want := range map[[2]string][]string{
		{"2026-11-26T03:47:35Z", "now"}: {
			"changed configmaps shop web 2026-11-26T03:47:52.000Z writer-112 data.a: 3 -> 9",
			"hole configmaps <none> <none> 2026-11-26T03:47:50.000Z <none> " + lost,
		},
		{"2026-11-26T03:47:01Z", "2026-11-26T03:47:35Z"}: {
			"changed configmaps shop web 2026-11-26T03:47:30.000Z writer-130 data.a: 1 -> 3",
		},
		{"111", "155"}: {"changed configmaps shop web 2026-11-26T03:47:52.000Z writer-112 data.a: 2 -> 9"},
	} {
		if diff := cmp.Diff(want, rows(diffed(t, table(dir, period[0], period[1])))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", period, diff)
		}
	}
	want := []string{
		"2026-11-26T03:47:35.000Z 130 existed writer-130 <none>",
		"2026-11-26T03:47:50.000Z 110 hole <none> " + lost,
		"<none> 105 changed writer-105 data.a: 3 -> 2, (changed in a hole)",
		"2026-11-26T03:47:52.000Z 112 changed writer-112 data.a: 2 -> 9",
	}
	if diff := cmp.Diff(want, rows(logged(t, shopLog(dir, "2026-11-26T03:47:35Z", "now"), "configmaps/web"))); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	o := table(dir, "2026-11-26T03:48:02Z", "2026-11-26T03:47:35Z") // version 120 to 130
	if err := o.diff(t.Context(), nil, now, new(strings.Builder)); !errors.Is(err, ErrOrder) {
		t.Errorf("got %v, want %v", err, ErrOrder)
	}
}
