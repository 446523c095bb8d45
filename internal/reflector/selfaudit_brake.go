package reflector

import "time"

const (
	// auditMend is how long after a lane was listed again for a difference it is not for another, at first; the pause
	// doubles up to auditMendLongest. A lane that differs each time would be listed for ever.
	auditMend        = 10 * time.Minute
	auditMendLongest = 24 * time.Hour
)

// brake is when a lane may be listed again for what differs. Objects and columns have one each: a lane that has been
// listed for columns in vain may still be mended by a list where objects are wrong.
type brake struct {
	differed bool      // something did in this pass
	mended   time.Time // when the lane was last listed again; zero after a pass in which nothing differed
	pause    time.Duration
}

// mayMend tells whether the lane may be listed again.
func (b *brake) mayMend() bool { return time.Since(b.mended) > b.pause }

// mends notes that the lane is listed again.
func (b *brake) mends() {
	if !b.mended.IsZero() { // and no pass since then found all the same
		b.pause = min(2*b.pause, auditMendLongest)
	}
	b.mended = time.Now()
}

// ends notes that a pass is over.
func (b *brake) ends() {
	if !b.differed {
		b.mended, b.pause = time.Time{}, auditMend
	}
	b.differed = false
}
