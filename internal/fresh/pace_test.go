package fresh

import (
	"testing"
	"time"
)

// However many wait, and however often they come back, the upstream is asked 25 times a second once the credit is used
// up.
func TestPaceOfManyReaders(t *testing.T) {
	p, now := &pace{}, time.Unix(1000, 0)
	for range 200 {
		p.begin()
	}
	asked := 0
	for end := now.Add(10 * time.Second); now.Before(end); asked++ {
		now = now.Add(p.take(now) + time.Millisecond) // each question takes a millisecond, and the next is there at once
	}
	if most := 250 + int(credit/widest) + 1; asked > most || asked < 200 {
		t.Errorf("%d questions in 10 s, wanted up to %d", asked, most)
	}
}

// Who is alone never waits, also just after many others.
func TestPaceOfOne(t *testing.T) {
	p, now := &pace{}, time.Unix(1000, 0)
	p.begin()
	if !p.alone() {
		t.Error("one is not alone")
	}
	for range 100 {
		if wait := p.take(now); wait != 0 {
			t.Fatalf("one reader waits %s", wait)
		}
		now = now.Add(time.Millisecond)
	}
	p.begin()
	if p.alone() {
		t.Error("two are alone")
	}
	p.end()
	if wait := p.take(now.Add(widest)); wait != 0 {
		t.Errorf("the one who stayed waits %s", wait)
	}
}

// Readers of many resources have a question each, which nobody shares: the last of them is not starved by the others.
func TestPaceOfManyQuestions(t *testing.T) {
	p, now := &pace{}, time.Unix(1000, 0)
	for range 500 {
		p.begin()
	}
	last := time.Duration(0)
	for range 500 {
		wait := p.take(now)
		if wait < last {
			t.Fatalf("a question waits %s, the one before it %s", wait, last)
		}
		last = wait
	}
	if last > longest {
		t.Errorf("the last question waits %s", last)
	}
}
