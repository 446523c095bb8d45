package journal

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
)

// benchRecords yields records of 1,000 bytes that cannot be compressed, like packed pods.
func benchRecords(kind Kind, count int) iter.Seq[Record] {
	payload := make([]byte, 1000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(payload)
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-%d/deployment-5d89bdfbf9-%05d", i%10, i)
	}
	return func(yield func(Record) bool) {
		for i := range count {
			if !yield(Record{Kind: kind, RV: 10, Time: epoch, Key: keys[i%len(keys)], Payload: payload}) {
				return
			}
		}
	}
}

// BenchmarkAppend measures one event, in visits of 100 events.
func BenchmarkAppend(b *testing.B) {
	w := opened(b, b.TempDir()).Lane("pods")
	begin(b, w, startAt(1, Position{}))
	visit := benchRecords(Upsert, 100)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%100 != 0 {
			continue // part of the visit before
		}
		if w.current.size > 256<<20 {
			begin(b, w, startAt(1, Position{}))
		}
		if err := w.Append(b.Context(), visit); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheckpoint measures a checkpoint of 20,000 objects, with its sync.
func BenchmarkCheckpoint(b *testing.B) {
	w := opened(b, b.TempDir()).Lane("pods")
	for b.Loop() {
		if err := w.Begin(b.Context(), startAt(1, Position{}), benchRecords(Object, 20_000)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead measures one record of a segment of 20,000.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	w := opened(b, dir).Lane("pods")
	if err := w.Begin(b.Context(), startAt(1, Position{}), benchRecords(Object, 20_000)); err != nil {
		b.Fatal(err)
	}
	s := listed(b, dir, "pods")[0]
	b.ReportAllocs()
	for left := 0; b.Loop(); {
		if left--; left > 0 {
			continue // read before
		}
		for _, err := range s.Records(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			left++
		}
	}
}
