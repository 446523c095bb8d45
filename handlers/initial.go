package handlers

import (
	"sync/atomic"
	"time"
)

const (
	// quiet is for how long nothing comes when a watch's initial events are over: they are sent at one go.
	quiet = 100 * time.Millisecond
	// longestInitial is when they are taken for over although something comes: on a busy resource other events follow
	// at once.
	longestInitial = 10 * time.Second
)

// initialBody leaves the place of a watch when its initial events are over, or when its client has held them up for too
// long. What follows costs the upstream no more than any watch. Their end is not looked for in what is sent: that may
// be compressed, and old servers send no bookmark there.
type initialBody struct {
	*countedBody
	weight  int64 // the body's, whose end says nothing about initial events
	held    *heldBody
	silence *time.Timer // since a Read began
	longest *time.Timer
	over    atomic.Bool
}

func newInitialBody(body *countedBody) *initialBody {
	b := &initialBody{countedBody: body, weight: body.weight}
	body.weight = 0
	b.held = newHeldBody(body, b.end)
	b.longest = time.AfterFunc(longestInitial, b.end)
	b.silence = time.AfterFunc(heldUp, b.silent)
	return b
}

// end is the end of what the place was for.
func (b *initialBody) end() {
	b.over.Store(true)
	b.seat.leave()
}

// silent is that end, too, and tells that everything was sent.
func (b *initialBody) silent() {
	if b.over.CompareAndSwap(false, true) {
		b.seat.noteSize(b.weight * b.bytes.Load())
		b.seat.leave()
	}
}

// Read implements io.Reader.
func (b *initialBody) Read(p []byte) (int, error) {
	if b.over.Load() {
		return b.countedBody.Read(p)
	}
	patience := quiet
	if b.bytes.Load() == 0 {
		patience = heldUp // the upstream may have to become fresh first
	}
	b.silence.Reset(patience)
	n, err := b.held.Read(p)
	b.silence.Stop()
	return n, err
}

// Close implements io.Closer.
func (b *initialBody) Close() error {
	b.silence.Stop()
	b.longest.Stop()
	return b.held.Close()
}
