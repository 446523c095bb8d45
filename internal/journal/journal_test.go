package journal

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	epoch    = time.UnixMilli(1_700_000_000_000).UTC()
	identity = Identity{Cluster: "uid", Resource: "/v1, Resource=pods", Encoding: "json", Accept: "application/json", Upstream: "v1.37.1", Marked: true, Columns: []byte("[]")}
)

// moment returns a time that many seconds after epoch.
func moment(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// opened opens a journal until the end of the test.
func opened(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// object returns an object of a checkpoint.
func object(rv uint64, key string) Record {
	return Record{Kind: Object, RV: rv, Key: key, Payload: fmt.Appendf(nil, "payload of %s at %d", key, rv)}
}

// event returns an event at moment(rv).
func event(kind Kind, rv uint64, key string) Record {
	r := object(rv, key)
	r.Kind, r.Time = kind, moment(int(rv)) //nolint:gosec // small
	return r
}

// dictionary returns a dictionary.
func dictionary(content string) Record { return Record{Kind: Dictionary, Payload: []byte(content)} }

// startAt returns the start of a segment at moment(rv).
func startAt(rv uint64, after Position) Start {
	const nanoseconds = 1234                                                                       // are not stored
	return Start{Identity: identity, RV: rv, Time: moment(int(rv)).Add(nanoseconds), After: after} //nolint:gosec // small
}

// begin begins a segment.
func begin(t testing.TB, w *Writer, start Start, objects ...Record) {
	t.Helper()
	if err := w.Begin(t.Context(), start, slices.Values(objects)); err != nil {
		t.Fatal(err)
	}
}

// add appends events.
func add(t testing.TB, w *Writer, events ...Record) {
	t.Helper()
	if err := w.Append(t.Context(), slices.Values(events)); err != nil {
		t.Fatal(err)
	}
}

// listed returns the segments of a lane.
func listed(t testing.TB, dir, lane string) []Segment {
	t.Helper()
	all, err := Segments(dir, lane)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// collect returns copies of records, and the error that ended them.
func collect(records iter.Seq2[Record, error]) (all []Record, err error) {
	for r, err := range records {
		if err != nil {
			return all, err
		}
		r.Payload = slices.Clone(r.Payload)
		all = append(all, r)
	}
	return all, nil
}

// same fails the test unless records are equal, except for Plain, which is not stored.
func same(t testing.TB, want, got []Record) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Record{}, "Plain"), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestRecordsAreReadAsWritten checks the content of two segments of which the second continues the first, while the
// second is being written.
func TestRecordsAreReadAsWritten(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	objects := []Record{dictionary("one"), object(3, "ns/a"), object(1, "ns/b")}
	events := []Record{event(Upsert, 7, "ns/a"), dictionary("two"), event(Delete, 8, "ns/b"), event(Progress, 9, "")}
	plain := event(Upsert, 12, "ns/c")
	plain.Payload, plain.Plain = make([]byte, 10_000), true
	begin(t, w, startAt(5, Position{}), objects...)
	add(t, w, events[0])
	add(t, w, events[1:]...)
	begin(t, w, startAt(9, w.Position()), object(7, "ns/a"))
	add(t, w, plain)
	all := listed(t, dir, "pods")
	if len(all) != 2 || !all[1].Continues(&all[0]) || all[0].Continues(&all[1]) {
		t.Fatalf("got %+v, want two segments that continue each other", all)
	}
	want := Segment{
		Start: Start{Identity: identity, RV: 5, Time: moment(5)}, Lane: "pods", Sequence: 1, Last: 9, Until: moment(9), Earliest: moment(5), Closed: true, Objects: 2,
	}
	if diff := cmp.Diff(want, all[0], cmpopts.IgnoreFields(Segment{}, "Path", "Size", "Modified", "End")); diff != "" {
		t.Error(diff)
	}
	if all[1].Closed || all[1].Last != 12 || all[1].Size > 1000 {
		t.Errorf("got %+v, want an open, compressed segment up to 12", all[1])
	}
	got, err := collect(all[0].Records(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	same(t, append(objects, events...), got)
	if got, err = collect(all[0].Events(t.Context(), 7)); err != nil {
		t.Fatal(err)
	}
	same(t, append(objects[:1:1], events[1:]...), got)
	if got, err = collect(all[0].Events(t.Context(), 8)); err != nil {
		t.Fatal(err)
	}
	same(t, []Record{objects[0], events[1], events[3]}, got)
	if got, err = collect(all[1].Records(t.Context())); err != nil {
		t.Fatal(err)
	}
	same(t, []Record{object(7, "ns/a"), plain}, got)
}
