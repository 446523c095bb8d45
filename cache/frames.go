package cache

import (
	"bytes"
	"sync/atomic"
	"weak"

	"github.com/listfacade/listfacade/internal/wire"
)

// Frame is the encoding of an event, shared by watchers. Its bytes are read-only.
type Frame struct{ Bytes []byte }

// frames caches the frames of an epoch's last events. The references are weak, so memory is bounded by one frame for
// each watcher that is sending.
type frames struct {
	slots [frameSlots]atomic.Pointer[frameSlot]
}

// frameSlots is the maximum number of frames that can be shared at a time.
const frameSlots = 64

// frameSlot is a frame and the event that it encodes. It is immutable. The fields seq, kind and representation identify
// the bytes, because watchers that receive an event with the same EventType receive the same object (history.deleted).
type frameSlot struct {
	seq            int64
	kind           EventType
	representation wire.Representation
	frame          weak.Pointer[Frame]
}

// Frame returns the frame of the event that Next just returned. Watchers that send the event at about the same time
// share one frame, whatever their predicates. Frame returns nil when no other watcher receives the event, and for
// initial events. It also returns nil for rows of a Table, which contain the age at the time of sending. All framers of
// a representation must write the same bytes.
func (w *Watcher) Frame(event Event, representation wire.Representation, framer wire.Framer) *Frame {
	if w.snapshot != nil || event.Object == nil || representation.Kind == wire.Row || !w.sharesEvent() {
		return nil
	}
	seq := w.seq - 1
	at := &w.epoch.frames.slots[positionOf(seq, event.Type, representation)]
	slot := at.Load()
	if slot != nil && slot.seq == seq && slot.kind == event.Type && slot.representation == representation {
		if f := slot.frame.Value(); f != nil {
			verifyFrame(f, event, framer)
			return f
		}
	}
	buffer := make([]byte, 0, event.Object.Size()+frameMargin)
	f := &Frame{Bytes: framer.AppendEvent(buffer, event.Type.String(), event.Object.Item())}
	if slot == nil || slot.seq <= seq { // a slow watcher does not replace the frames of newer events
		at.Store(&frameSlot{seq: seq, kind: event.Type, representation: representation, frame: weak.Make(f)})
	}
	return f
}

// frameMargin is the maximum size in bytes of a frame without its object, rounded up.
const frameMargin = 256

// sharesEvent reports whether other watchers receive the event that Next just returned, through the same feed or
// another. If the watcher read the event from history, only its own feed counts.
func (w *Watcher) sharesEvent() bool {
	if w.feed.shared.Load() {
		return true
	}
	seq := w.seq - 1
	e := w.epoch.history.at(seq)
	return e != nil && seq >= w.joined && e.notified.Load() > 1
}

// positionOf returns the slot of an event. Each type of the event has one slot for metadata, and one for the object.
func positionOf(seq int64, kind EventType, representation wire.Representation) int64 {
	slot := seq*2 + int64(kind)*kindsApart
	if representation.Kind == wire.Partial {
		slot++
	}
	return slot % frameSlots
}

// kindsApart is the distance between the slots of two types of one event: about a third of frameSlots for three types.
const kindsApart = 22

func verifyFrame(f *Frame, event Event, framer wire.Framer) {
	if verifyEverything && !bytes.Equal(f.Bytes, framer.AppendEvent(nil, event.Type.String(), event.Object.Item())) {
		panic("BUG: cache: shared frame differs from the frame of its event")
	}
}
