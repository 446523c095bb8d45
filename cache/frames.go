package cache

import (
	"bytes"
	"sync/atomic"
	"weak"

	"github.com/listfacade/listfacade/internal/wire"
)

// Frame is the frame of an event as bytes that watchers share: nobody writes into them. They are shared for as long as
// somebody holds the Frame.
type Frame struct{ Bytes []byte }

// frames are those of an epoch's last events, for who comes next. They are held weakly: what no watcher is about to
// send is garbage, so the memory is never more than one frame for each of the places that somebody sends from.
type frames struct {
	slots [frameSlots]atomic.Pointer[frameSlot]
}

// frameSlots is how far watchers may be from each other and share: half as many events, in two forms each.
const frameSlots = 64

// frameSlot is a frame and what it is about. Immutable, as all frames are: the event has one object for all who are
// told of it in the same type (history.deleted), and an epoch one Shape.
type frameSlot struct {
	seq            int64
	kind           EventType
	representation wire.Representation
	frame          weak.Pointer[Frame]
}

// Frame returns the event that Next has just returned as a frame, which is written by the first of the watchers that
// send it, whatever they select. It returns nil when there is nothing to share: to a watcher that is the only one to be
// told, for initial events, and for rows of a Table, which are as old as they are when they are sent. All framers of a
// form write the same.
func (w *Watcher) Frame(event Event, representation wire.Representation, framer wire.Framer) *Frame {
	if w.snapshot != nil || event.Object == nil || representation.Kind == wire.Row || !w.inCompany() {
		return nil
	}
	seq := w.seq - 1
	at := &w.epoch.frames.slots[positionOf(seq, event.Type, representation)]
	place := at.Load()
	if place != nil && place.seq == seq && place.kind == event.Type && place.representation == representation {
		if f := place.frame.Value(); f != nil {
			verifyFrame(f, event, framer)
			return f
		}
	}
	buffer := make([]byte, 0, event.Object.Size()+frameMargin)
	f := &Frame{Bytes: framer.AppendEvent(buffer, event.Type.String(), event.Object.Item())}
	if place == nil || place.seq <= seq { // who lags behind shares with nobody, and takes no place from who does
		at.Store(&frameSlot{seq: seq, kind: event.Type, representation: representation, frame: weak.Make(f)})
	}
	return f
}

// frameMargin is more than what stands around an object in a frame.
const frameMargin = 256

// inCompany tells whether others are told of the event that Next has just returned: those of the same feed, or of
// others, as the dispatcher found. Who reads history by itself is alone with what the feeds had before.
func (w *Watcher) inCompany() bool {
	if w.feed.shared.Load() {
		return true
	}
	seq := w.seq - 1
	e := w.epoch.history.at(seq)
	return e != nil && seq >= w.joined && e.notified.Load() > 1
}

// positionOf keeps the whole object and its metadata apart, and what one event is to those who select differently.
func positionOf(seq int64, kind EventType, representation wire.Representation) int64 {
	place := seq*2 + int64(kind)*kindsApart
	if representation.Kind == wire.Partial {
		place++
	}
	return place % frameSlots
}

// kindsApart is a third of the places, or so: most events are the same to all.
const kindsApart = 22

// verifyFrame panics when what another watcher wrote is not what this one would have written.
func verifyFrame(f *Frame, event Event, framer wire.Framer) {
	if verifyEverything && !bytes.Equal(f.Bytes, framer.AppendEvent(nil, event.Type.String(), event.Object.Item())) {
		panic("BUG: a shared frame is another event's")
	}
}
