package journal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// writerDir is the environment variable with the directory to which TestWriterProcess writes.
const writerDir = "LISTFACADE_TEST_JOURNAL"

// content is the content of a lane, by key.
type content map[string]uint64

// apply makes the change at a resourceVersion: it creates or changes one of ten objects, or deletes another.
func (c content) apply(rv uint64) Record {
	kind, key := Upsert, fmt.Sprintf("ns/%d", rv%10)
	if rv%7 == 0 && c[key] > 0 {
		kind = Delete
	}
	c.read(Record{Kind: kind, RV: rv, Key: key})
	return event(kind, rv, key)
}

// read makes the change of a record.
func (c content) read(r Record) {
	switch r.Kind {
	case Object, Upsert:
		c[r.Key] = r.RV
	case Delete:
		delete(c, r.Key)
	case Progress, Dictionary:
	}
}

// objects returns the checkpoint.
func (c content) objects() (all []Record) {
	for key, rv := range c {
		all = append(all, object(rv, key))
	}
	return all
}

// restored returns the content at the end of a lane's newest segments, and the position of that end.
func restored(t *testing.T, dir string) (c content, rv uint64, at Position) {
	c = content{}
	run := Run(listed(t, dir, "pods"), time.Time{})
	for i := range run {
		records := run[i].Records(t.Context())
		if i > 0 {
			records = run[i].Events(t.Context(), 0)
		}
		for r, err := range records {
			if err != nil {
				t.Fatal(err)
			}
			c.read(r)
		}
		rv, at = run[i].Last, run[i].End
	}
	return c, rv, at
}

// TestWriterProcess is the process that TestKilledWriter kills. It continues the journal, and prints each
// resourceVersion after it was written.
func TestWriterProcess(t *testing.T) {
	dir := os.Getenv(writerDir)
	if dir == "" {
		t.Skip("runs in a process of TestKilledWriter")
	}
	w := opened(t, dir).Lane("pods")
	c, rv, after := restored(t, dir)
	for {
		begin(t, w, startAt(rv, after), c.objects()...)
		for range 20 {
			var events []Record
			for range 1 + rv%5 {
				rv++
				events = append(events, c.apply(rv))
			}
			add(t, w, events...)
			_, _ = fmt.Fprintln(os.Stdout, rv)
		}
		after = w.Position()
	}
}

// TestKilledWriter kills a process that writes, at random moments, and lets the next one continue. Every event that a
// process had written is there, without a hole.
func TestKilledWriter(t *testing.T) {
	random, dir := settings.Random(t), ""
	for n := range settings.Amount(4, 200) {
		if n%4 == 0 {
			dir = t.TempDir()
		}
		written := killedAfter(t, dir, 1+random.IntN(100))
		want := content{}
		all := listed(t, dir, "pods")
		for i, s := range all {
			if i > 0 && !s.Continues(&all[i-1]) {
				t.Fatalf("got %+v after %+v, want that it continues", s, all[i-1])
			}
			got := content{}
			for r, err := range s.Records(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Kind != Object {
					want.apply(r.RV)
				} else if want[r.Key] != r.RV {
					t.Fatalf("segment %d: got %s at %d in the checkpoint, want %d", s.Sequence, r.Key, r.RV, want[r.Key])
				}
				got.read(r)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("segment %d: %s", s.Sequence, diff)
			}
		}
		if last := all[len(all)-1].Last; last < written {
			t.Fatalf("got events up to %d, want at least %d", last, written)
		}
	}
}

// killedAfter runs a process that writes, kills it after a number of appends, and returns the last version that it
// printed.
func killedAfter(t *testing.T, dir string, appends int) (written uint64) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestWriterProcess$")
	process.Env = slices.Concat(os.Environ(), []string{writerDir + "=" + dir})
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range appends {
		if !lines.Scan() {
			t.Fatalf("the process ended: %v", process.Wait())
		}
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	text := lines.Text()
	for lines.Scan() { // printed before it was killed
		text = lines.Text()
	}
	_ = process.Wait() // it was killed
	written, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return written
}
