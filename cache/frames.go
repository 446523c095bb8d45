package cache

import (
	"bytes"
	"sync/atomic"
	"weak"

	"github.com/listfacade/listfacade/internal/wire"
)

// Frame is an encoded event frame that watchers share. Its bytes are read-only. It can be shared while any watcher
// references it.
type Frame struct{ Bytes []byte }

// frames caches the frames of an epoch's last events, for the next watchers that send them. The references are weak: a
// frame that no watcher is about to send is garbage. Memory is therefore bounded by one frame for each watcher that is
// sending.
type frames struct {
	slots [frameSlots]atomic.Pointer[frameSlot]
}

// frameSlots is the number of frames that can be shared at a time. Each event has one slot for each of two
// representations. Watchers therefore share frames when they are less than frameSlots/2 events apart.
const frameSlots = 64

// frameSlot is a frame and the event that it encodes. It is immutable. The fields seq, kind and representation identify
// the bytes. An event of one type has one object for all watchers (history.deleted), and an epoch encodes with one
// wire.Shape.
type frameSlot struct {
	seq            int64
	kind           EventType
	representation wire.Representation
	frame          weak.Pointer[Frame]
}

// Frame returns the frame of the event that Next just returned. The first watcher that sends the event encodes it for
// all watchers, whatever their predicates. Frame returns nil when no other watcher receives the event, and for initial
// events. It also returns nil for rows of a Table, which contain the age at the time of sending. All framers of a
// representation must write the same bytes.
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
// another. For events that a watcher reads from history itself, only its own feed counts.
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

// kindsApart is the distance between the slots of two types of one event: about a third of the slots. It rarely
// matters, because most events have the same type for all watchers.
const kindsApart = 22

// verifyFrame panics when a shared frame differs from the frame that this watcher would write.
func verifyFrame(f *Frame, event Event, framer wire.Framer) {
	if verifyEverything && !bytes.Equal(f.Bytes, framer.AppendEvent(nil, event.Type.String(), event.Object.Item())) {
		panic("BUG: cache: shared frame differs from the frame of its event")
	}
}
