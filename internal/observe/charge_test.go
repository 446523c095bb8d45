package observe

import (
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// A resting watch costs nothing. The costs of an event are charged at the next call, and only once.
func TestChargeOfRestingWatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, p := newOpen(new(Inflight), "watch", "/api/v1/pods?watch=1")
		p.Known()
		p.Watching(placed{at: 1})
		sends := func(events int) {
			p.Writes(time.Now())
			p.Wrote(10)
			p.Sent(events)
			p.Rests()
		}
		charged := func(want Cost) {
			t.Helper()
			if _, got, ok := p.Charge(); got != want || ok != (want != Cost{}) {
				t.Errorf("got %+v %t, want %+v", got, ok, want)
			}
		}
		pass(time.Second) // the work before the first write
		sends(1)
		charged(Cost{Bytes: 10, Events: 1, CPU: time.Second})
		for events := 2; events < 4; events++ {
			pass(time.Minute)
			charged(Cost{})
			p.Wakes()
			pass(time.Millisecond)
			sends(events)
			charged(Cost{Bytes: 10, Events: 1, CPU: time.Millisecond})
		}
		charged(Cost{})
	})
}
