package cache

import (
	"fmt"
	"slices"
	"testing"
)

// A watch that resumes skips the segments of history without its anchor's values, whether objects had the values before
// or after the event, and receives the same events as a watch that compares all of them.
func TestReplaySkipsSegments(t *testing.T) {
	l := newTestLane(t, Options{}, 100)
	rv := RV(100)
	write := func(kind ChangeKind, key, node, app string) {
		rv++
		apply(t, l, kind, pod(key, rv, node, app))
	}
	fill := func(events int) {
		for i := range events {
			write(Upsert, fmt.Sprint("a/p", i%8), fmt.Sprint("node-", i%8), "web")
		}
	}
	fill(segmentSize)
	write(Upsert, "a/x", "here", "db")
	fill(2*segmentSize - 1)
	write(Upsert, "a/x", "there", "db")
	fill(segmentSize - 1)
	write(Delete, "a/x", "there", "db")
	fill(segmentSize + 5)

	all := drained(watch(t, l, selecting(t, "", "", ""), AfterRV(100)))
	for _, c := range []struct {
		name, namespace, labels, fields string
		want                            []string
		skipped                         []int64 // positions of segments
	}{
		{"node before and after", "", "", "spec.nodeName=here",
			[]string{all[64], "DELETED a/x@293 here db"}, []int64{0, 128, 256}},
		{"label", "", "app=db", "", []string{all[64], all[192], all[256]}, []int64{0, 128}},
		{"key", "a", "", "metadata.name=x", []string{all[64], all[192], all[256]}, []int64{0, 128}},
		{"nothing", "", "", "spec.nodeName=elsewhere", nil, []int64{0, 64, 128, 192, 256}},
	} {
		w := watch(t, l, selecting(t, c.namespace, c.labels, c.fields), AfterRV(100))
		var skipped []int64
		for seq := int64(0); seq+segmentSize <= w.joined; seq += segmentSize {
			if w.epoch.history.lacks(seq, &w.feed.anchor) {
				skipped = append(skipped, seq)
			}
		}
		if got := drained(w); !slices.Equal(got, c.want) || !slices.Equal(skipped, c.skipped) {
			t.Errorf("%s: got %q and skipped %v, want %q and %v", c.name, got, skipped, c.want, c.skipped)
		}
	}
}

// A segment has sets of few properties. Watches of others are compared with each event.
func TestSegmentsHaveFewValueSets(t *testing.T) {
	l := newTestLane(t, Options{}, 100)
	for i := range segmentSize {
		apply(t, l, Upsert, pod("a/a", RV(101+i), "here", "web"))
	}
	for i := range 2 * maxValueSets {
		w := watch(t, l, selecting(t, "", fmt.Sprintf("key-%d=a", i), ""), AfterRV(100))
		if got, want := w.epoch.history.lacks(0, &w.feed.anchor), i < maxValueSets; got != want {
			t.Errorf("label %d: got %t, want %t", i, got, want)
		}
		equal(t, "events", len(drained(w)), 0)
	}
}
