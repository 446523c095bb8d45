package limit

import (
	"context"
	"testing"
)

// What is taken is told while it is, and who waits.
func TestLoad(t *testing.T) {
	places := NewSeats(Bounds{One: 5, Group: 5, All: 5, Queue: 1})
	leave, err := places.Take(t.Context(), Alone("a"), 3)
	if err != nil {
		t.Fatal(err)
	}
	if load := places.Load(); load != (Load{Taken: 3, All: 5}) {
		t.Errorf("%+v", load)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := places.Take(ended, Alone("b"), 4); err == nil {
		t.Error("there were four more")
	}
	leave()
	if load := places.Load(); load != (Load{All: 5}) {
		t.Errorf("%+v", load)
	}
	crowd := NewConcurrencyLimit(ConcurrencyBounds{All: 7})
	if leave, err = crowd.Join("a"); err != nil {
		t.Fatal(err)
	}
	if load := crowd.Load(); load != (Load{Taken: 1, All: 7}) {
		t.Errorf("%+v", load)
	}
	leave()
	if load := crowd.Load(); load.Taken != 0 {
		t.Errorf("%+v", load)
	}
}
