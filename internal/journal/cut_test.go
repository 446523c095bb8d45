package journal

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// at returns an event at a resourceVersion and a time in seconds.
func at(rv uint64, seconds int) Record {
	r := event(Upsert, rv, "ns/a")
	r.Time = moment(seconds)
	return r
}

// found is the result of a cut for one lane.
type found struct {
	segment uint64
	Certainty
}

// laneOf returns the result of a cut for a lane.
func laneOf(c Cut, name string) found {
	for _, l := range c.Lanes {
		if l.Lane == name {
			return found{l.Segment.Sequence, l.Certainty}
		}
	}
	return found{}
}

// TestCut looks up moments in lanes with holes and without.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	pods, nodes := j.Lane("pods"), j.Lane("nodes")
	begin(t, pods, startAt(10, Position{}))
	add(t, pods, at(20, 20))
	begin(t, pods, startAt(25, pods.Position())) // exact
	add(t, pods, at(30, 30))
	begin(t, pods, startAt(40, Position{})) // after a hole
	add(t, pods, at(50, 50))
	begin(t, nodes, startAt(15, Position{}))
	add(t, nodes, at(35, 35), at(38, 38))
	for _, c := range []struct {
		time, rv    int
		pods, nodes found
	}{
		{9, 0, found{}, found{}},
		{10, 10, found{1, Exact}, found{}},
		{14, 10, found{1, Exact}, found{}},
		{15, 15, found{1, Exact}, found{1, Exact}},
		{22, 20, found{1, Exact}, found{1, Exact}},
		{26, 25, found{2, Exact}, found{1, Exact}},
		{35, 35, found{2, Hole}, found{1, Exact}},
		{39, 38, found{2, Hole}, found{1, Exact}},
		{45, 40, found{3, Exact}, found{1, Tail}},
		{99, 50, found{3, Exact}, found{1, Tail}},
	} {
		cut, err := CutAt(t.Context(), dir, moment(c.time))
		if err != nil {
			t.Fatal(err)
		}
		if cut.RV != uint64(c.rv) || laneOf(cut, "pods") != c.pods || laneOf(cut, "nodes") != c.nodes {
			t.Errorf("at %d: got version %d, pods %v, nodes %v, want %+v", c.time, cut.RV, laneOf(cut, "pods"), laneOf(cut, "nodes"), c)
		}
	}
	for rv, want := range map[uint64][2]found{
		9: {}, 12: {{1, Exact}, {}}, 23: {{1, Exact}, {1, Exact}}, 33: {{2, Hole}, {1, Exact}}, 39: {{2, Hole}, {1, Tail}}, 60: {{3, Tail}, {1, Tail}},
	} {
		cut, err := CutAtVersion(dir, rv)
		if err != nil {
			t.Fatal(err)
		}
		if cut.RV != rv || laneOf(cut, "pods") != want[0] || laneOf(cut, "nodes") != want[1] {
			t.Errorf("at version %d: got %+v, want %v", rv, cut, want)
		}
	}
}

// TestCutAfterClockWentBack checks that look-ups end, and return the record written last among those in time.
func TestCutAfterClockWentBack(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	begin(t, w, startAt(10, Position{}))
	add(t, w, at(11, 100), at(12, 200))
	add(t, w, at(13, 50), at(14, 60)) // the clock went back
	start := startAt(14, w.Position())
	start.Time = moment(61)
	begin(t, w, start)
	add(t, w, at(15, 5), at(16, 300)) // and again
	for seconds, want := range map[int]uint64{4: 0, 5: 15, 9: 15, 10: 15, 55: 15, 61: 15, 100: 15, 299: 15, 300: 16, 999: 16} {
		cut, err := CutAt(t.Context(), dir, moment(seconds))
		if err != nil || cut.RV != want {
			t.Errorf("at %d: got %d, %v, want %d", seconds, cut.RV, err, want)
		}
	}
}

// TestCutOfOneCluster checks that a cut has the lanes of one cluster: the cluster that was recorded last at the time.
func TestCutOfOneCluster(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	pods, nodes := j.Lane("pods"), j.Lane("nodes")
	other := func(rv uint64, seconds int) Start {
		s := startAt(rv, Position{})
		s.Cluster, s.Time = "other", moment(seconds)
		return s
	}
	begin(t, pods, startAt(10, Position{}))
	add(t, pods, at(20, 20))
	begin(t, nodes, startAt(15, Position{}))
	begin(t, pods, other(3, 40))
	add(t, pods, at(5, 50))
	for seconds, want := range map[int]Cut{20: {Cluster: "uid", RV: 20}, 39: {Cluster: "uid", RV: 20}, 45: {Cluster: "other", RV: 3}} {
		cut, err := CutAt(t.Context(), dir, moment(seconds))
		if err != nil || cut.Cluster != want.Cluster || cut.RV != want.RV {
			t.Errorf("at %d: got %+v, %v, want %+v", seconds, cut, err, want)
		}
	}
	cut, err := CutAtVersion(dir, 4)
	if err != nil || cut.Cluster != "other" || laneOf(cut, "pods") != (found{2, Exact}) || laneOf(cut, "nodes") != (found{}) {
		t.Errorf("got %+v, %v, want pods of the other cluster", cut, err)
	}
}

// TestCutBeforeRestoredBackup checks that a moment before resourceVersions went back is found in its own segment.
func TestCutBeforeRestoredBackup(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	begin(t, w, startAt(10, Position{}))
	add(t, w, at(30, 30))
	start := startAt(15, Position{})
	start.Time = moment(50)
	begin(t, w, start)
	add(t, w, at(25, 55))
	for seconds, want := range map[int]struct {
		rv uint64
		found
	}{40: {30, found{1, Exact}}, 52: {15, found{2, Exact}}, 60: {25, found{2, Exact}}} {
		if cut, err := CutAt(t.Context(), dir, moment(seconds)); err != nil || cut.RV != want.rv || laneOf(cut, "pods") != want.found {
			t.Errorf("at %d: got %+v, %v, want %+v", seconds, cut, err, want)
		}
	}
}

// TestCutAgreesWithModel compares look-ups with a list of all records, for random records in random blocks and segments
// with a clock that jumps.
func TestCutAgreesWithModel(t *testing.T) {
	random := settings.Random(t)
	for range settings.Amount(4, 300) {
		dir := t.TempDir()
		w := opened(t, dir).Lane("pods")
		type written struct {
			rv      uint64
			seconds int
		}
		all, rv, clock := []written{}, uint64(1), 100
		for range 30 {
			rv += random.Uint64N(3) + 1
			if clock += random.IntN(5); random.IntN(10) == 0 {
				clock = random.IntN(200)
			}
			if len(all) == 0 || random.IntN(6) == 0 {
				start := startAt(rv, w.Position())
				start.Time = moment(clock)
				begin(t, w, start)
				all = append(all, written{rv, clock})
				continue
			}
			var records []Record
			for range random.IntN(3) + 1 {
				rv++
				records, all = append(records, at(rv, clock)), append(all, written{rv, clock})
				clock += random.IntN(5) - 1
			}
			add(t, w, records...)
		}
		for seconds := range 220 {
			want := uint64(0)
			for _, r := range all {
				if r.seconds <= seconds {
					want = r.rv
				}
			}
			cut, err := CutAt(t.Context(), dir, moment(seconds))
			if err != nil || cut.RV != want {
				t.Fatalf("at %d: got %d, %v, want %d; written: %v", seconds, cut.RV, err, want, all)
			}
		}
	}
}

// TestRun checks which segments restore a lane.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	begin(t, w, startAt(10, Position{}))
	for _, rv := range []uint64{20, 30, 40} {
		after := w.Position()
		if rv == 20 {
			after = Position{}
		}
		begin(t, w, startAt(rv, after))
	}
	all := listed(t, dir, "pods")
	for since, want := range map[int][]uint64{50: {4}, 40: {4}, 39: {3, 4}, 30: {3, 4}, 25: {2, 3, 4}, 5: {2, 3, 4}} {
		var got []uint64
		for _, s := range Run(all, moment(since)) {
			got = append(got, s.Sequence)
		}
		if !slices.Equal(got, want) {
			t.Errorf("since %d: got segments %v, want %v", since, got, want)
		}
	}
	if err := os.Truncate(all[2].Path, 10); err != nil {
		t.Fatal(err)
	}
	all = listed(t, dir, "pods")
	if got := Run(all, time.Time{}); len(got) != 1 {
		t.Errorf("got %v, want the segment after the damaged one", got)
	}
	if got := Run(all[:3], time.Time{}); got != nil {
		t.Errorf("got %v, want none if the last one is damaged", got)
	}
	if got := Run(nil, time.Time{}); got != nil {
		t.Errorf("got %v of none", got)
	}
}
