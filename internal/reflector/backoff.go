package reflector

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// healthyAfter is how long a stream must last for pauses to start at their minimum again. Without this reset, short
// failures every 15 seconds would lead to long pauses, and lanes would be stale most of the time.
const healthyAfter = 5 * time.Second

// backoff delays repeated attempts. Pauses start at 100 ms and double up to 30 s, each with up to 100 % jitter. So
// lanes and facades do not send requests to a restarted upstream at the same moment.
type backoff struct {
	wait.Backoff
	silent func() time.Duration // how long the upstream has sent no response; 0 while it responds
}

func newBackoff(silent func() time.Duration) *backoff {
	b := &backoff{silent: silent}
	b.reset()
	return b
}

func (b *backoff) reset() {
	b.Backoff = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 1 << 30, Cap: 30 * time.Second}
}

// noteUptime resets the pauses if a stream lasted longer than healthyAfter.
func (b *backoff) noteUptime(well time.Duration) {
	if well > healthyAfter {
		b.reset()
	}
}

const (
	// outageLook is the interval at which a pause checks whether an outage has ended. If the outage has ended, the pause
	// ends after a random time of at most outageSpread.
	outageLook   = time.Second
	outageSpread = 2 * time.Second
)

// sleep pauses before the next attempt, for at least atLeast, or until the context ends. In a long outage, pauses grow
// to a minute. If the outage ends during a pause and atLeast is 0, this pause ends soon, and later pauses start at
// their minimum. So lanes do not stay stale for a minute after the outage.
func (b *backoff) sleep(ctx context.Context, atLeast time.Duration) { b.sleepUntil(ctx, atLeast, nil) }

// sleepUntil is like sleep, but also returns when the channel cut is closed.
func (b *backoff) sleepUntil(ctx context.Context, atLeast time.Duration, cut <-chan struct{}) {
	timer, look := time.NewTimer(max(b.Step(), atLeast)), time.NewTicker(outageLook)
	defer timer.Stop()
	defer look.Stop()
	for away := b.silent() > 0; ; {
		select {
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-cut:
			return
		case <-look.C:
			answered := b.silent() == 0
			if away && answered && atLeast == 0 {
				b.reset()
				timer.Reset(rand.N(outageSpread))
			}
			away = !answered
		}
	}
}

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
