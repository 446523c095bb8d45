package fresh

import (
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A few requests are in flight at a time, and no reader waits much longer for a seat than for a response.
func TestWaitForSeatIsShort(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		seats := newQuestionSeats()
		for range maxQuestions {
			began := time.Now()
			seats.take(t.Context())
			if took := time.Since(began); took != 0 {
				t.Errorf("got a wait of %s for a free seat, want none", took)
			}
		}
		began := time.Now()
		seats.take(t.Context())() // one more, whose release does nothing
		if took := time.Since(began); took != seatWait {
			t.Errorf("got a wait of %s for a seat", took)
		}
		for range 100 {
			seats.observe(200 * time.Millisecond)
		}
		time.AfterFunc(20*time.Millisecond, seats.release)
		began = time.Now()
		seats.take(t.Context())
		if took := time.Since(began); took != 20*time.Millisecond {
			t.Errorf("got a wait of %s for a seat that was released after 20ms", took)
		}
		began = time.Now()
		seats.take(t.Context())
		if took := time.Since(began); took != seatWaitMost {
			t.Errorf("got a wait of %s for a seat, where requests are slow", took)
		}
		seats.release()
		seats.occupy()
		began = time.Now()
		seats.take(t.Context())
		if took := time.Since(began); took != seatWaitMost {
			t.Errorf("got a seat taken for %s by a read that the upstream answers", took)
		}
	})
}
