package limit

import "testing"

// BenchmarkTake measures seats that are free, of a caller who has no others.
func BenchmarkTake(b *testing.B) {
	p := NewSeats(Bounds{One: 50, Group: 200, All: 400, Queue: 1024, QueueAll: 8192})
	b.ReportAllocs()
	for b.Loop() {
		leave, err := p.Take(b.Context(), Alone("alice"), 1)
		if err != nil {
			b.Fatal(err)
		}
		leave()
	}
}
