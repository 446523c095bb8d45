package reflector

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// healthyAfter is how long a stream must have lived for the next failure to count as the first. An upstream that is
// away for a moment every quarter of a minute is not one that attempts must be kept from, and a lane that waited for as
// long as all those failures add up to would be stale most of the time.
const healthyAfter = 5 * time.Second

// backoff spaces attempts: from 100 ms, doubling to 30 s, each with up to its own length of jitter, so that many lanes
// and many facades do not come back to a restarted upstream in step.
type backoff struct {
	wait.Backoff
	silent func() time.Duration // how long the upstream has answered nobody; 0 while it does
}

func newBackoff(unheard func() time.Duration) *backoff {
	b := &backoff{silent: unheard}
	b.reset()
	return b
}

func (b *backoff) reset() {
	b.Backoff = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 1 << 30, Cap: 30 * time.Second}
}

// lived is told how long the upstream was well. How long an attempt took that failed says nothing.
func (b *backoff) lived(well time.Duration) {
	if well > healthyAfter {
		b.reset()
	}
}

const (
	// outageLook is how often a pause looks whether an outage is over, and outageSpread within what time pauses end then.
	outageLook   = time.Second
	outageSpread = 2 * time.Second
)

// sleep waits for the next attempt, at least atLeast, or until the context ends. When an outage is over that began
// before the pause or in it, the pause is soon over, too, and the next ones are short again: by then they have grown to
// a minute, and the upstream may be back for no more than a second.
func (b *backoff) sleep(ctx context.Context, atLeast time.Duration) {
	timer, look := time.NewTimer(max(b.Step(), atLeast)), time.NewTicker(outageLook)
	defer timer.Stop()
	defer look.Stop()
	for away := b.silent() > 0; ; {
		select {
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-look.C:
			heard := b.silent() == 0
			if away && heard && atLeast == 0 {
				b.reset()
				timer.Reset(rand.N(outageSpread))
			}
			away = !heard
		}
	}
}

// sleep waits for a while, or fails when the context ends.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
