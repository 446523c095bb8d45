package handlers

import (
	"sync/atomic"
	"time"
)

const (
	// quiet is how long a watch must send nothing before its initial events are considered complete. kube-apiserver
	// sends them without a pause.
	quiet = 100 * time.Millisecond
	// longestInitial is the time after which the initial events are considered complete in any case. On a busy resource,
	// other events follow them without a pause.
	longestInitial = 10 * time.Second
)

// initialBody releases the seat of a watch after its initial events, or when its client has delayed them for too long.
// Later events cost the upstream no more than the events of any other watch. A pause marks the end of the initial
// events. The initial-events-end bookmark cannot mark it, because the stream may be compressed, and old servers send no
// such bookmark.
type initialBody struct {
	*countedBody
	weight  int64 // original weight of the countedBody, for the size of the initial events
	held    *heldBody
	silence *time.Timer // fires if a Read lasts too long
	longest *time.Timer
	over    atomic.Bool
}

func newInitialBody(body *countedBody) *initialBody {
	b := &initialBody{countedBody: body, weight: body.weight}
	body.weight = 0
	b.held = newHeldBody(body, b.end)
	b.longest = time.AfterFunc(longestInitial, b.end)
	b.silence = time.AfterFunc(maxUpstreamWait, b.silent)
	return b
}

func (b *initialBody) end() {
	b.over.Store(true)
	b.seat.leave()
}

// silent is called after the pause that marks the end of the initial events.
func (b *initialBody) silent() {
	if b.over.CompareAndSwap(false, true) {
		b.seat.noteSize(b.weight * b.bytes.Load())
		b.seat.leave()
	}
}

func (b *initialBody) Read(p []byte) (int, error) {
	if b.over.Load() {
		return b.countedBody.Read(p)
	}
	patience := quiet
	if b.bytes.Load() == 0 {
		patience = maxUpstreamWait // the upstream's cache may have to become fresh first
	}
	b.silence.Reset(patience)
	n, err := b.held.Read(p)
	b.silence.Stop()
	return n, err
}

func (b *initialBody) Close() error {
	b.silence.Stop()
	b.longest.Stop()
	return b.held.Close()
}
