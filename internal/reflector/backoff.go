package reflector

import (
	"context"
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
}

func newBackoff() *backoff {
	b := &backoff{}
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

// sleep waits for the next attempt, at least atLeast, or until the context ends.
func (b *backoff) sleep(ctx context.Context, atLeast time.Duration) {
	timer := time.NewTimer(max(b.Step(), atLeast))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
