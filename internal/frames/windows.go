package frames

import (
	"encoding/binary"
	"slices"
)

const (
	typeReset        = 3
	typeWindowUpdate = 8
	windowUpdateLen  = headerLen + 4
)

// windows delays the WINDOW_UPDATE frames of a client until the server needs them. Go's client sends a frame for each
// stream and each connection after every 4 KiB. Each frame costs a TLS record and a system call, also at the server.
//
// A window stays at least three quarters open for data that the client has read. The server can therefore always send
// while the client reads.
type windows struct {
	stream, connection uint32 // minimum held increments in bytes for which the held frames are sent

	frames boundary
	held   map[uint32]uint32 // increments in bytes by stream; 0 stands for the connection
	order  []uint32          // keys of held
	out    []byte
}

func newWindows(stream, connection int) *windows {
	return &windows{
		stream: uint32(stream), connection: uint32(connection), frames: boundary{left: preface}, held: map[uint32]uint32{},
	}
}

// next returns the bytes to send for a write of the client. They may be empty, and are valid until the next call.
func (w *windows) next(p []byte) []byte {
	if !w.frames.reached() || !areWindowUpdates(p) {
		w.pass(p)
		return p
	}
	due := false
	for ; len(p) > 0; p = p[windowUpdateLen:] {
		due = w.add(binary.BigEndian.Uint32(p[5:]), binary.BigEndian.Uint32(p[headerLen:])) || due
	}
	if !due {
		return nil
	}
	return w.release()
}

// pass follows frames that are sent unchanged. It drops the held increment of a stream that the client resets, because
// the server needs no window for this stream.
func (w *windows) pass(p []byte) {
	for len(p) > 0 {
		var head []byte
		if head, p = w.frames.next(p); head == nil || head[3] != typeReset {
			continue
		}
		stream := binary.BigEndian.Uint32(head[5:])
		delete(w.held, stream)
		w.order = slices.DeleteFunc(w.order, func(other uint32) bool { return other == stream })
	}
}

// add holds the increment of a stream. It reports whether the held frames must be sent.
func (w *windows) add(stream, increment uint32) bool {
	n, known := w.held[stream]
	if !known {
		w.order = append(w.order, stream)
	}
	n += increment
	w.held[stream] = n
	if stream == 0 {
		return n >= w.connection
	}
	return n >= w.stream
}

// release returns one WINDOW_UPDATE frame for each stream with a held increment.
func (w *windows) release() []byte {
	w.out = w.out[:0]
	for _, stream := range w.order {
		w.out = append(w.out, 0, 0, windowUpdateLen-headerLen, typeWindowUpdate, 0)
		w.out = binary.BigEndian.AppendUint32(w.out, stream)
		w.out = binary.BigEndian.AppendUint32(w.out, w.held[stream])
	}
	clear(w.held)
	w.order = w.order[:0]
	return w.out
}

func areWindowUpdates(p []byte) bool {
	if len(p)%windowUpdateLen != 0 {
		return false
	}
	for ; len(p) > 0; p = p[windowUpdateLen:] {
		if length(p) != windowUpdateLen-headerLen || p[3] != typeWindowUpdate {
			return false
		}
	}
	return true
}

// boundary finds the beginnings of frames in a stream of bytes.
type boundary struct {
	head [headerLen]byte
	have int // bytes of an incomplete header in head
	left int // bytes before the next header
}

// reached reports whether the next byte begins a frame.
func (b *boundary) reached() bool { return b.have == 0 && b.left == 0 }

// next returns the header of the next frame, and the rest of p after the header. head is nil if p ends before the end
// of a header. It is valid until the next call.
func (b *boundary) next(p []byte) (head, rest []byte) {
	n := min(b.left, len(p))
	b.left, p = b.left-n, p[n:]
	n = copy(b.head[b.have:], p)
	b.have, p = b.have+n, p[n:]
	if b.have < headerLen {
		return nil, p
	}
	b.have, b.left = 0, length(b.head[:])
	return b.head[:], p
}
