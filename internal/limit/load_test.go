package limit

import (
	"context"
	"testing"
)

func TestLoadReportsSeatsTaken(t *testing.T) {
	seats := NewSeats(Bounds{One: 5, Group: 5, All: 5, Queue: 1})
	leave, err := seats.Take(t.Context(), Alone("a"), 3)
	if err != nil {
		t.Fatal(err)
	}
	if load := seats.Load(); load != (Load{Taken: 3, All: 5}) {
		t.Errorf("got %+v, want 3 of 5 seats taken", load)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := seats.Take(ended, Alone("b"), 4); err == nil {
		t.Error("got four more seats, want ErrBusy")
	}
	leave()
	if load := seats.Load(); load != (Load{All: 5}) {
		t.Errorf("got %+v, want no seat taken", load)
	}
	limit := NewConcurrencyLimit(ConcurrencyBounds{All: 7})
	if leave, err = limit.Join("a"); err != nil {
		t.Fatal(err)
	}
	if load := limit.Load(); load != (Load{Taken: 1, All: 7}) {
		t.Errorf("got %+v, want 1 of 7 taken", load)
	}
	leave()
	if load := limit.Load(); load.Taken != 0 {
		t.Errorf("got %+v, want none taken", load)
	}
}
