package reflector

import "time"

const (
	// relistPause is the first pause between two relists of a lane because of differences. It doubles up to
	// maxRelistPause, because a lane that always differs must not be listed without end.
	relistPause    = 10 * time.Minute
	maxRelistPause = 24 * time.Hour
)

// brake limits how often a lane is listed again because of differences. Objects and columns have separate brakes,
// because a relist may fix objects even if it did not fix columns.
type brake struct {
	differed bool      // whether this pass found a difference
	relisted time.Time // time of the last relist; zero after a pass without differences
	pause    time.Duration
}

// mayRelist reports whether the lane may be listed again.
func (b *brake) mayRelist() bool { return time.Since(b.relisted) > b.pause }

// relists records that the lane is listed again.
func (b *brake) relists() {
	if !b.relisted.IsZero() { // every pass since then found a difference
		b.pause = min(2*b.pause, maxRelistPause)
	}
	b.relisted = time.Now()
}

// ends records the end of a pass.
func (b *brake) ends() {
	if !b.differed {
		b.relisted, b.pause = time.Time{}, relistPause
	}
	b.differed = false
}
