package journal

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// aged is the file of a segment with its last modification, in hours before now.
type aged struct {
	name  string
	hours int
	bytes int
}

// write creates the files in a journal's directory.
func write(t *testing.T, dir string, now time.Time, all ...aged) {
	t.Helper()
	for _, a := range all {
		path, at := filepath.Join(dir, a.name), now.Add(-time.Duration(a.hours)*time.Hour)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, a.bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// remaining returns the files in a journal's directory.
func remaining(t *testing.T, dir string) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.segment"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join(dir, lanesDir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, deeper...) {
		all = append(all, strings.TrimPrefix(strings.TrimPrefix(path, dir+"/"), lanesDir+"/"))
	}
	slices.Sort(all)
	return all
}

// TestRetain checks which segments the limits remove. pods and nodes have a writer, gone has none.
// The second segment of documents was valid until the third one began.
func TestRetain(t *testing.T) {
	pods, nodes, gone := lanesDir+"/pods/", lanesDir+"/nodes/", lanesDir+"/gone/"
	files := []aged{
		{pods + fileName(1), 30, 100}, {pods + fileName(2), 20, 100}, {pods + fileName(3), 0, 100},
		{nodes + fileName(7), 40, 100}, // quiet
		{gone + fileName(1), 26, 100}, {gone + fileName(2), 25, 100}, {gone + "notes.txt", 99, 1000},
		{documentsDir + "/" + fileName(1), 60, 100}, {documentsDir + "/" + fileName(2), 50, 100}, {documentsDir + "/" + fileName(3), 23, 100},
	}
	for name, c := range map[string]struct {
		limits Limits
		want   []string
		over   bool
	}{
		"no limit": {Limits{}, []string{"documents/1", "documents/2", "documents/3", "gone/1", "gone/2", "gone/notes.txt", "nodes/7", "pods/1", "pods/2", "pods/3"}, false},
		"age":      {Limits{Age: 24 * time.Hour}, []string{"documents/2", "documents/3", "gone/notes.txt", "nodes/7", "pods/2", "pods/3"}, false},
		"bytes":    {Limits{Bytes: 600}, []string{"documents/2", "documents/3", "gone/2", "gone/notes.txt", "nodes/7", "pods/2", "pods/3"}, false},
		"both":     {Limits{Age: 24 * time.Hour, Bytes: 300}, []string{"documents/3", "gone/notes.txt", "nodes/7", "pods/3"}, false},
		"too few":  {Limits{Bytes: 1}, []string{"documents/3", "gone/notes.txt", "nodes/7", "pods/3"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, now := t.TempDir(), time.Now()
			j := opened(t, dir)
			write(t, dir, now, files...)
			j.running[filepath.Join(dir, lanesDir, "pods")] = true
			j.running[filepath.Join(dir, lanesDir, "nodes")] = true
			kept, err := j.Retain(now, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			got := remaining(t, dir)
			for i, name := range got {
				got[i] = strings.ReplaceAll(strings.TrimSuffix(name, ".segment"), "000000000", "")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			segments := len(c.want) - 1
			if want := (Kept{segments, int64(100 * segments), 9 - segments, c.over}); kept != want {
				t.Errorf("got %+v, want %+v", kept, want)
			}
		})
	}
}

// TestRetainRemovesOldestOfLaneFirst checks that a segment never goes before an earlier one of its lane, even if the
// clock went back between them.
func TestRetainRemovesOldestOfLaneFirst(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	j := opened(t, dir)
	lane := lanesDir + "/pods/"
	write(t, dir, now, aged{lane + fileName(1), -100, 1}, aged{lane + fileName(2), 90, 1}, aged{lane + fileName(3), 80, 1})
	if kept, err := j.Retain(now, Limits{Age: time.Hour}); err != nil || kept.Removed > 0 {
		t.Errorf("got %+v, %v, want all segments", kept, err)
	}
	if kept, err := j.Retain(now, Limits{Bytes: 2}); err != nil || kept.Removed != 1 {
		t.Errorf("got %+v, %v, want one segment removed", kept, err)
	}
	if got, want := remaining(t, dir), []string{"pods/" + fileName(2), "pods/" + fileName(3)}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSequenceNumbersGoOn checks that a lane's next segment has a higher number than all earlier segments, and that an
// empty directory of a lane without a writer is removed.
func TestSequenceNumbersGoOn(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	w := j.Lane("pods")
	begin(t, w, startAt(5, Position{}))
	begin(t, w, startAt(5, w.Position()))
	if kept, err := j.Retain(time.Now(), Limits{Bytes: 1}); err != nil || kept.Segments != 1 {
		t.Fatalf("got %+v, %v, want one segment", kept, err)
	}
	begin(t, w, startAt(5, w.Position()))
	if all := listed(t, dir, "pods"); len(all) != 2 || all[1].Sequence != 3 {
		t.Errorf("got %+v, want two segments up to 3", all)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if kept, err := j.Retain(time.Now(), Limits{Bytes: 1}); err != nil || kept.Segments != 0 {
			t.Fatalf("got %+v, %v, want no segment", kept, err)
		}
	}
	if lanes, err := Lanes(dir); err != nil || len(lanes) > 0 {
		t.Errorf("got lanes %v, %v, want none", lanes, err)
	}
}

// TestHeldSegmentsStay checks that all segments of a lane stay while Hold protects it: until they are released, or the
// lane's writer begins a segment or is closed.
func TestHeldSegmentsStay(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(t *testing.T, w *Writer, release func())
		want int
	}{
		"release": {func(_ *testing.T, _ *Writer, release func()) { release() }, 0},
		"begin":   {func(t *testing.T, w *Writer, _ func()) { begin(t, w, startAt(5, Position{})) }, 1},
		"close":   {func(_ *testing.T, w *Writer, _ func()) { _ = w.Close() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir, now := t.TempDir(), time.Now()
			j := opened(t, dir)
			write(t, dir, now, aged{lanesDir + "/pods/" + fileName(1), 30, 1}, aged{lanesDir + "/pods/" + fileName(2), 20, 1})
			release, w := j.Hold("pods"), j.Lane("pods")
			for _, want := range []int{2, c.want} {
				if kept, err := j.Retain(now, Limits{Age: time.Hour, Bytes: 1}); err != nil || kept.Segments != want {
					t.Errorf("got %+v, %v, want %d segments", kept, err, want)
				}
				c.ends(t, w, release)
			}
		})
	}
}

// TestRemovedSegmentCanBeRead checks that a reader that has a segment open is not disturbed by Retain.
func TestRemovedSegmentCanBeRead(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	w := j.Lane("pods")
	begin(t, w, startAt(5, Position{}), object(1, "ns/a"))
	add(t, w, event(Upsert, 6, "ns/a"))
	_ = w.Close()
	all, n := listed(t, dir, "pods"), 0
	for _, err := range all[0].Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			if kept, err := j.Retain(time.Now(), Limits{Bytes: 1}); err != nil || kept.Removed != 1 {
				t.Fatalf("got %+v, %v, want one segment removed", kept, err)
			}
		}
	}
	if n != 2 {
		t.Errorf("got %d records, want 2", n)
	}
	if _, err := collect(all[0].Records(t.Context())); !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want that the file does not exist", err)
	}
}
