package limit

import "testing"

// BenchmarkTake measures taking a free seat for a caller without other seats.
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
