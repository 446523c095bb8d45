package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// example writes a segment with blocks of every kind, and returns its content and records.
func example(t testing.TB, ends func(*Writer)) (content []byte, records []Record) {
	t.Helper()
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	plain := event(Upsert, 6, "ns/plain")
	plain.Payload, plain.Plain = bytes.Repeat([]byte("text "), 30), true
	records = []Record{
		dictionary("one"), object(3, "ns/a"), object(1, "ns/b"), event(Upsert, 6, "ns/a"), dictionary("two"), event(Delete, 7, "ns/b"), event(Progress, 9, ""), plain,
	}
	records[7].RV = 10
	begin(t, w, startAt(5, Position{}), records[:3]...)
	add(t, w, records[3:6]...)
	add(t, w, records[6])
	add(t, w, records[7])
	ends(w)
	content, err := os.ReadFile(filepath.Join(dir, lanesDir, "pods", fileName(1)))
	if err != nil {
		t.Fatal(err)
	}
	return content, records
}

// crashed is the end of a process that is killed, and closed is the end of any other process.
func crashed(*Writer)  {}
func closed(w *Writer) { _ = w.Close() }

// readBytes reads the records of a file with the given content.
func readBytes(t testing.TB, content []byte) (records []Record, err error) {
	b := &blocks{file: bytes.NewReader(content), size: int64(len(content))}
	defer b.close()
	err = b.all(t.Context(), func(*header) bool { return true }, func(r Record) bool {
		r.Payload = bytes.Clone(r.Payload)
		records = append(records, r)
		return true
	})
	return records, err
}

// offsets returns the offsets of a segment's blocks.
func offsets(t testing.TB, content []byte) (all []int) {
	t.Helper()
	b := &blocks{file: bytes.NewReader(content), size: int64(len(content)), at: int64(len(format))}
	for h, ok := b.peek(); ok; h, ok = b.peek() {
		all = append(all, int(b.at))
		b.skip(&h)
	}
	return all
}

// isPrefix reports whether got is the beginning of want.
func isPrefix(want, got []Record) bool {
	if len(got) > len(want) {
		return false
	}
	for i := range got {
		want := want[i]
		want.Plain = false
		if !cmp.Equal(want, got[i]) {
			return false
		}
	}
	return true
}

// TestEveryFlippedBitIsFound flips each bit of a segment, or one of each byte. Reading returns the records before the
// damage, and an error unless the damage is in the last block.
func TestEveryFlippedBitIsFound(t *testing.T) {
	for name, ends := range map[string]func(*Writer){"crashed": crashed, "closed": closed} {
		content, want := example(t, ends)
		blocks := offsets(t, content)
		last := blocks[len(blocks)-1]
		for at := range content {
			for n := range settings.Amount(1, 8) {
				bit := (at + n) % 8
				damaged := bytes.Clone(content)
				damaged[at] ^= 1 << bit
				got, err := readBytes(t, damaged)
				switch {
				case !isPrefix(want, got):
					t.Fatalf("%s: byte %d, bit %d: got %v, want the beginning of %v", name, at, bit, got, want)
				case at < last && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat):
					t.Errorf("%s: byte %d, bit %d: got error %v, want ErrDamaged", name, at, bit, err)
				case at >= last && err != nil:
					t.Errorf("%s: byte %d, bit %d of the last block: got error %v, want none", name, at, bit, err)
				case at < last && len(got) == len(want) && name == "crashed":
					t.Errorf("%s: byte %d, bit %d: got all records, want fewer", name, at, bit)
				}
			}
		}
	}
}

// TestTornEnd cuts a segment at each offset, and continues it with zeros and with the end of another segment. Reading
// returns the records of the complete blocks without an error, but never an incomplete checkpoint.
func TestTornEnd(t *testing.T) {
	content, want := example(t, closed)
	other, _ := example(t, closed)
	whole := offsets(t, content)
	complete := whole[4] // start, dictionary, objects, end of the checkpoint
	for at := range content {
		for name, tail := range map[string][]byte{"": nil, "zeros": make([]byte, 500), "another segment": other[min(at, len(other)):]} {
			if name == "another segment" && at < complete {
				continue // it may be all of the other one
			}
			torn := append(bytes.Clone(content[:at]), tail...)
			isWhole := bytes.HasPrefix(torn, content[:complete]) // zeros may replace zeros of the last checksum
			got, err := readBytes(t, torn)
			switch {
			case !isPrefix(want, got):
				t.Fatalf("cut at %d, then %q: got %v", at, name, got)
			case isWhole && (err != nil || len(got) < 3):
				t.Errorf("cut at %d, then %q: got %d records, error %v", at, name, len(got), err)
			case !isWhole && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat):
				t.Errorf("cut at %d, then %q: got error %v, want ErrDamaged", at, name, err)
			}
		}
	}
}

// TestListingAgreesWithReading checks that Segments finds the last record that Records returns, wherever a segment was
// cut, and that nothing continues a segment that was cut.
func TestListingAgreesWithReading(t *testing.T) {
	content, _ := example(t, crashed)
	dir := t.TempDir()
	w := opened(t, dir).Lane("pods")
	begin(t, w, startAt(1, Position{}))
	path := filepath.Join(dir, lanesDir, "pods", fileName(1))
	full := Segment{}
	for at := len(content); at >= 0; at -= settings.Amount(3, 1) {
		for _, tail := range []string{"", strings.Repeat("\x00", 40)}[:1+at%2] {
			if err := os.WriteFile(path, append(content[:at:at], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			s := listed(t, dir, "pods")[0]
			records, err := collect(s.Records(t.Context()))
			if (err != nil) != (s.Err != nil) {
				t.Fatalf("cut at %d: got error %v, in the list %v", at, err, s.Err)
			}
			if err != nil {
				continue
			}
			last, until := uint64(5), moment(5)
			for _, r := range records {
				if r.Kind.isEvent() {
					last, until = r.RV, r.Time
				}
			}
			if s.Last != last || !s.Until.Equal(until) || s.Objects != 2 {
				t.Errorf("cut at %d: got last %d at %v, %d objects, want %d at %v, 2 objects", at, s.Last, s.Until, s.Objects, last, until)
			}
			if at == len(content) {
				full = s
			}
			next := Segment{Start: Start{After: full.End}}
			if got, want := next.Continues(&s), s.Last == full.Last; got != want {
				t.Errorf("cut at %d: got continued %t, want %t", at, got, want)
			}
		}
	}
}

// TestOtherFormatIsRefused checks the errors for files that are no segments of this version.
func TestOtherFormatIsRefused(t *testing.T) {
	content, _ := example(t, closed)
	for text, want := range map[string]error{
		"": ErrDamaged, "x": ErrDamaged, formatName: ErrDamaged, formatName + "2\n" + string(content): ErrFormat,
		formatName + "10\n" + string(content[len(format):]): ErrFormat, strings.Repeat("x", 1000): ErrDamaged, format: ErrDamaged,
	} {
		if got, err := readBytes(t, []byte(text)); !errors.Is(err, want) || len(got) > 0 {
			t.Errorf("%.30q: got %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestInvalidContent checks that content that does not agree with its header is damage although its checksum matches.
func TestInvalidContent(t *testing.T) {
	content, want := example(t, crashed)
	blocks := offsets(t, content)
	objects := blocks[2] // after the start and a dictionary
	for name, change := range map[string]func(header []byte){
		"fewer records": func(h []byte) { h[23]++ }, "more records": func(h []byte) { h[23]-- },
		"records of another kind": func(h []byte) { h[4] = byte(eventsBlock) }, "an unknown compression": func(h []byte) { h[5] = 9 },
		"not compressed": func(h []byte) { h[5] = byte(zstdCodec) }, "another size": func(h []byte) { h[15]++ },
		"a long key": func(h []byte) { h[headerSize+2] = 0xff },
	} {
		changed := bytes.Clone(content)
		change(changed[objects:])
		seal(changed)
		if got, err := readBytes(t, changed); !errors.Is(err, ErrDamaged) || len(got) == len(want) {
			t.Errorf("%s: got %d records, error %v, want ErrDamaged", name, len(got), err)
		}
	}
}

// TestMisplacedBlocks drops, repeats and exchanges blocks, as a disk that loses writes may. Reading ends before the
// first block that is not in its place, with an error if a later block is in its place.
func TestMisplacedBlocks(t *testing.T) {
	content, want := example(t, closed)
	at := append(offsets(t, content), len(content))
	parts := [][]byte{content[:at[0]]}
	for i := range at[1:] {
		parts = append(parts, content[at[i]:at[i+1]])
	}
	for i := 1; i < len(parts)-1; i++ {
		for name, changed := range map[string][][]byte{
			"dropped":   slices.Delete(slices.Clone(parts), i, i+1),
			"repeated":  slices.Insert(slices.Clone(parts), i, parts[i]),
			"exchanged": append(append(slices.Clone(parts[:i]), parts[i+1], parts[i]), parts[i+2:]...),
		} {
			got, err := readBytes(t, bytes.Join(changed, nil))
			if !isPrefix(want, got) || len(got) == len(want) && i < len(parts)-2 || !errors.Is(err, ErrDamaged) && i < len(parts)-2 {
				t.Errorf("block %d %s: got %d records, error %v, want fewer than %d and ErrDamaged", i-1, name, len(got), err, len(want))
			}
		}
	}
}
