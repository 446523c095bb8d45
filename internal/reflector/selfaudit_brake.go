package reflector

import "time"

const (
	// relistPause is the first pause between two relists of a lane because of differences. The pause doubles up to
	// maxRelistPause, because otherwise a lane that always differs would be listed without end.
	relistPause    = 10 * time.Minute
	maxRelistPause = 24 * time.Hour
)

// brake limits how often a lane is listed again because of differences. Objects and columns have separate brakes,
// because a relist may fix the objects even if it does not fix the columns.
type brake struct {
	differed bool      // whether this pass found a difference
	relisted time.Time // time of the last relist; zero after a pass without differences
	pause    time.Duration
}

func (b *brake) mayRelist() bool { return time.Since(b.relisted) > b.pause }

func (b *brake) relists() {
	if !b.relisted.IsZero() { // every pass since then found a difference
		b.pause = min(2*b.pause, maxRelistPause)
	}
	b.relisted = time.Now()
}

func (b *brake) ends() {
	if !b.differed {
		b.relisted, b.pause = time.Time{}, relistPause
	}
	b.differed = false
}
