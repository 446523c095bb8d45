package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// faultyDisk is a disk with room for a number of bytes.
type faultyDisk struct {
	disk
	room      *int64
	truncates bool
	wait      chan struct{} // if not nil, a write ends when it is closed
	waits     chan struct{} // receives a value when a write begins to wait
}

// WriteAt writes as much as there is room for.
func (d faultyDisk) WriteAt(p []byte, at int64) (int, error) {
	if d.wait != nil {
		d.waits <- struct{}{}
		<-d.wait
	}
	n := min(int64(len(p)), max(*d.room, 0))
	*d.room -= int64(len(p))
	written, err := d.disk.WriteAt(p[:n], at)
	if n < int64(len(p)) && err == nil {
		err = syscall.ENOSPC
	}
	return written, err
}

// Truncate fails unless the disk truncates.
func (d faultyDisk) Truncate(size int64) error {
	if !d.truncates {
		return syscall.EIO
	}
	return d.disk.Truncate(size)
}

// faulty makes a journal write to faulty disks that share their room.
func faulty(j *Journal, d faultyDisk) (room *int64) {
	d.room = new(int64)
	j.create = func(path string) (disk, error) {
		file, err := create(path)
		d.disk = file
		return d, err
	}
	return d.room
}

// TestFullDisk lets the disk become full after each number of bytes. Records that were written before stay readable,
// and the failed records are written again when there is room.
func TestFullDisk(t *testing.T) {
	first, second := []Record{object(1, "ns/a")}, []Record{event(Upsert, 6, "ns/a"), dictionary("two"), event(Upsert, 7, "ns/b")}
	for room := int64(0); ; room += int64(settings.Amount(29, 1)) {
		dir := t.TempDir()
		j := opened(t, dir)
		left := faulty(j, faultyDisk{truncates: true})
		w := j.Lane("pods")
		*left = room
		want := []Record{}
		began := w.Begin(t.Context(), startAt(5, Position{}), slices.Values(first))
		if began == nil {
			want = append(want, first...)
		} else if *left = 1 << 20; !errors.Is(began, syscall.ENOSPC) || !errors.Is(w.Append(t.Context(), slices.Values(second)), ErrNoSegment) {
			t.Fatalf("got %v, want ENOSPC, and no open segment", began)
		}
		appended := errors.New("not begun")
		if began == nil {
			if appended = w.Append(t.Context(), slices.Values(second)); appended == nil {
				want = append(want, second...)
			}
		}
		checkSegment(t, dir, want)
		*left = 1 << 20
		if began != nil {
			begin(t, w, startAt(5, Position{}), first...)
		}
		if appended != nil {
			add(t, w, second...)
		}
		checkSegment(t, dir, append(first[:1:1], second...))
		if entries, err := os.ReadDir(filepath.Join(dir, lanesDir, "pods")); err != nil || len(entries) != 1 {
			t.Errorf("got files %v, %v, want one", entries, err)
		}
		if appended == nil {
			return
		}
	}
}

// checkSegment checks that a lane has one segment with the given records, or none if there are no records.
func checkSegment(t *testing.T, dir string, want []Record) {
	t.Helper()
	all := listed(t, dir, "pods")
	if len(all) != min(len(want), 1) {
		t.Fatalf("got %d segments, want %d", len(all), min(len(want), 1))
	}
	for _, s := range all {
		got, err := collect(s.Records(t.Context()))
		if err != nil {
			t.Error(err)
		}
		same(t, want, got)
	}
}

// TestFailedCheckpointKeepsSegment checks that the open segment goes on when there is no room for the next checkpoint.
func TestFailedCheckpointKeepsSegment(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	left := faulty(j, faultyDisk{truncates: true})
	*left = 1 << 20
	w := j.Lane("pods")
	begin(t, w, startAt(5, Position{}), object(1, "ns/a"))
	*left = 500
	if err := w.Begin(t.Context(), startAt(6, w.Position()), slices.Values([]Record{{Kind: Object, Key: "ns/large", Payload: make([]byte, 1000)}})); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	*left = 1 << 20
	add(t, w, event(Upsert, 7, "ns/a"))
	checkSegment(t, dir, []Record{object(1, "ns/a"), event(Upsert, 7, "ns/a")})
	begin(t, w, startAt(7, w.Position()), object(7, "ns/a"))
	if all := listed(t, dir, "pods"); len(all) != 2 || !all[1].Continues(&all[0]) {
		t.Errorf("got %+v, want a continued segment", all)
	}
}

// TestUnknownTailEndsSegment checks that nothing is written after a failed write that cannot be undone.
func TestUnknownTailEndsSegment(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	left := faulty(j, faultyDisk{})
	*left = 1 << 20
	w := j.Lane("pods")
	begin(t, w, startAt(5, Position{}), object(1, "ns/a"))
	*left = 40
	if err := w.Append(t.Context(), slices.Values([]Record{event(Upsert, 7, "ns/a")})); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want ENOSPC and EIO", err)
	}
	if err := w.Append(t.Context(), slices.Values([]Record{event(Upsert, 7, "ns/a")})); !errors.Is(err, ErrNoSegment) || w.Position() != (Position{}) {
		t.Errorf("got %v at %v, want ErrNoSegment", err, w.Position())
	}
	checkSegment(t, dir, []Record{object(1, "ns/a")})
}

// TestRealFullDisk fills a file system, and makes room by Retain.
func TestRealFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	j := opened(t, dir)
	w := j.Lane("pods")
	large := func(rv uint64) Record {
		r := event(Upsert, rv, "ns/a")
		r.Payload = bytes.Repeat([]byte{byte(rv)}, 30<<10)
		return r
	}
	rv, full := uint64(0), 0
	begin(t, w, startAt(rv, Position{}), object(1, "ns/a"))
	for full < 3 {
		rv++
		if rv%3 == 0 {
			begin(t, w, startAt(rv, w.Position()), object(1, "ns/a"))
		}
		err := w.Append(t.Context(), slices.Values([]Record{large(rv)}))
		if err == nil {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		full++
		if kept, err := j.Retain(moment(0), Limits{Bytes: 100 << 10}); err != nil || kept.Removed == 0 || kept.Over {
			t.Fatalf("got %+v, %v, want removed segments", kept, err)
		}
		add(t, w, large(rv))
	}
	all := listed(t, dir, "pods")
	for i, s := range all {
		_, err := collect(s.Records(t.Context()))
		if err != nil || i > 0 && !s.Continues(&all[i-1]) {
			t.Errorf("segment %d: got error %v, want none and no hole", s.Sequence, err)
		}
	}
	if last := all[len(all)-1].Last; last != rv {
		t.Errorf("got last version %d, want %d", last, rv)
	}
}

// TestHangingDisk checks that a writer whose disk hangs delays neither another writer nor readers nor Retain.
func TestHangingDisk(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	other := j.Lane("nodes")
	begin(t, other, startAt(5, Position{}))
	hangs := faultyDisk{truncates: true, wait: make(chan struct{}), waits: make(chan struct{})}
	left := faulty(j, hangs)
	*left = 1 << 20
	done, began := make(chan error, 1), startAt(5, Position{})
	go func() { done <- j.Lane("pods").Begin(t.Context(), began, slices.Values([]Record{object(1, "ns/a")})) }()
	<-hangs.waits
	add(t, other, event(Upsert, 6, "ns/a"))
	if all := listed(t, dir, "pods"); len(all) > 0 {
		t.Errorf("got %+v, want no segment before its checkpoint is complete", all)
	}
	if cut, err := CutAt(t.Context(), dir, moment(6)); err != nil || cut.RV != 6 {
		t.Errorf("got %+v, %v, want 6", cut, err)
	}
	if kept, err := j.Retain(moment(6), Limits{Bytes: 1}); err != nil || kept.Segments != 1 || !kept.Over {
		t.Errorf("got %+v, %v, want one segment that stays", kept, err)
	}
	go func() {
		for range hangs.waits { // the writes after the first one
		}
	}()
	close(hangs.wait)
	if err := <-done; err != nil {
		t.Error(err)
	}
	close(hangs.waits)
	if all := listed(t, dir, "pods"); len(all) != 1 {
		t.Errorf("got %+v, want one segment", all)
	}
}

// nowhere is a disk that only records the sizes of writes and of unsynced data.
type nowhere struct{ largest, unsynced, mostUnsynced int }

// WriteAt implements io.WriterAt.
func (n *nowhere) WriteAt(p []byte, _ int64) (int, error) {
	n.largest, n.unsynced = max(n.largest, len(p)), n.unsynced+len(p)
	n.mostUnsynced = max(n.mostUnsynced, n.unsynced)
	return len(p), nil
}

// Sync implements disk.
func (n *nowhere) Sync() error { n.unsynced = 0; return nil }

// Close implements io.Closer.
func (n *nowhere) Close() error { return nil }

// Truncate implements disk.
func (n *nowhere) Truncate(int64) error { return nil }

// TestCheckpointIsStreamed checks that the writer holds about a block of a large checkpoint, and syncs regularly.
func TestCheckpointIsStreamed(t *testing.T) {
	j, counts := opened(t, t.TempDir()), &nowhere{}
	j.create = func(path string) (disk, error) { return counts, os.WriteFile(path, nil, 0o600) }
	const size = 10 << 10
	payload := make([]byte, size)
	w := j.Lane("pods")
	if err := w.Begin(t.Context(), startAt(5, Position{}), func(yield func(Record) bool) {
		for range 2 * syncEvery / size {
			if !yield(Record{Kind: Object, RV: 1, Payload: payload}) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if counts.largest > blockSize+2*size {
		t.Errorf("got a write of %d bytes, want at most %d", counts.largest, blockSize+2*size)
	}
	if counts.mostUnsynced > syncEvery+2*blockSize || counts.unsynced > 0 {
		t.Errorf("got %d bytes without a sync, %d at the end", counts.mostUnsynced, counts.unsynced)
	}
}

// TestEndOfContext checks that neither Begin nor Append writes anything if its context ends.
func TestEndOfContext(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	begin(t, w, startAt(5, Position{}), object(1, "ns/a"))
	cause := errors.New("cause")
	ends := func(ctx context.CancelCauseFunc, records ...Record) func(func(Record) bool) {
		return func(yield func(Record) bool) {
			for _, r := range records {
				if !yield(r) {
					return
				}
			}
			ctx(cause)
		}
	}
	ctx, end := context.WithCancelCause(t.Context())
	if err := w.Begin(ctx, startAt(6, w.Position()), ends(end, dictionary("one"), object(2, "ns/a"))); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	ctx, end = context.WithCancelCause(t.Context())
	if err := w.Append(ctx, ends(end, dictionary("one"), event(Upsert, 6, "ns/a"))); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	checkSegment(t, dir, []Record{object(1, "ns/a")})
	over, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := collect(listed(t, dir, "pods")[0].Records(over)); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

// TestInvalidRecords checks that Append refuses records of a wrong kind, order or size.
func TestInvalidRecords(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	begin(t, w, startAt(5, Position{}), object(1, "ns/a"))
	for name, c := range map[string]struct {
		records []Record
		want    error
	}{
		"before the checkpoint": {[]Record{event(Upsert, 4, "ns/a")}, ErrOrder},
		"before another one":    {[]Record{event(Upsert, 9, "ns/a"), event(Delete, 8, "ns/a")}, ErrOrder},
		"an object":             {[]Record{object(6, "ns/a")}, nil},
		"too large":             {[]Record{{Kind: Upsert, RV: 9, Payload: make([]byte, contentLimit)}}, ErrTooLarge},
		"of an unknown kind":    {[]Record{{Kind: 99, RV: 9}}, nil},
	} {
		if err := w.Append(t.Context(), slices.Values(c.records)); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	checkSegment(t, dir, []Record{object(1, "ns/a")})
}

// TestDue checks when a lane needs a new segment.
func TestDue(t *testing.T) {
	w := opened(t, t.TempDir()).Lane("pods")
	if !w.Due(moment(0), Limits{}) {
		t.Error("got not due without a segment, want due")
	}
	due := func(checkpoint, events int64, age time.Duration, limits Limits, want bool) {
		t.Helper()
		w.current.checkpoint, w.current.size = checkpoint, checkpoint+events
		if got := w.Due(moment(5).Add(age), limits); got != want {
			t.Errorf("checkpoint of %d bytes, events of %d, %v old, %+v: got %t, want %t", checkpoint, events, age, limits, got, want)
		}
	}
	begin(t, w, startAt(5, Position{}))
	const mib, day = 1 << 20, 24 * time.Hour
	due(100, 4*mib, time.Hour, Limits{}, false)
	due(100, 4*mib+1, time.Hour, Limits{}, true)
	due(10*mib, 80*mib, time.Hour, Limits{}, false)
	due(10*mib, 80*mib+1, time.Hour, Limits{}, true)
	due(10*mib, 10*mib, time.Hour, Limits{Bytes: 80 * mib}, false)
	due(10*mib, 10*mib+1, time.Hour, Limits{Bytes: 80 * mib}, true)
	due(10*mib, 5*mib, time.Hour, Limits{Bytes: 1}, true)
	due(10*mib, 0, 9*day, Limits{Age: day}, false)
	due(10*mib, 1, 3*time.Hour, Limits{Age: day}, false)
	due(10*mib, 1, 3*time.Hour+1, Limits{Age: day}, true)
}
