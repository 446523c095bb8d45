package fresh

import (
	"testing"
	"testing/synctest"
	"time"
)

// A few are under way at a time, and nobody waits much longer for a turn than for an answer.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newQuestionSeats()
		for range questionsAtOnce {
			began := time.Now()
			turns.take(t.Context())
			if took := time.Since(began); took != 0 {
				t.Errorf("waited %s for a free turn", took)
			}
		}
		began := time.Now()
		turns.take(t.Context())() // one more, which gives back nothing
		if took := time.Since(began); took != seatWait {
			t.Errorf("waited %s for a turn", took)
		}
		for range 100 {
			turns.took(200 * time.Millisecond)
		}
		time.AfterFunc(20*time.Millisecond, turns.over)
		began = time.Now()
		turns.take(t.Context())
		if took := time.Since(began); took != 20*time.Millisecond {
			t.Errorf("waited %s for a turn that was given back after 20ms", took)
		}
		began = time.Now()
		turns.take(t.Context())
		if took := time.Since(began); took != seatWaitMost {
			t.Errorf("waited %s for a turn, where questions are slow", took)
		}
		turns.over()
		turns.occupy()
		began = time.Now()
		turns.take(t.Context())
		if took := time.Since(began); took != seatWaitMost {
			t.Errorf("a read that the upstream answers keeps its turn for %s", took)
		}
	})
}
