package handlers

import (
	"io"
	"net"

	"golang.org/x/sync/semaphore"
)

const (
	// aheadOfOne is how many bytes of one answer are read before its client takes them.
	aheadOfOne = 4 << 20
	// aheadOverall bounds them over all answers. What finds no room is copied as it comes.
	aheadOverall = 128 << 20
	// aheadShare is how much of the memory they may take.
	aheadShare = 0.05
)

// aheadBody is a body whose beginning was read already.
type aheadBody struct {
	io.ReadCloser
	pieces net.Buffers
	ended  error // what ended the body; nil when there is more
	room   *semaphore.Weighted
	taken  int64 // of the room
}

// newAheadBody reads as much of a body as it may.
func newAheadBody(body io.ReadCloser, room *semaphore.Weighted) *aheadBody {
	const least, most = 4 << 10, 256 << 10 // most objects are smaller than one, lists larger than the other
	b := &aheadBody{ReadCloser: body, room: room}
	for size := int64(least); b.ended == nil && b.taken+size <= aheadOfOne && room.TryAcquire(size); size = min(2*size, most) {
		b.taken += size
		b.pieces = append(b.pieces, b.piece(size))
	}
	return b
}

// piece reads so many bytes, or what is left.
func (b *aheadBody) piece(size int64) []byte {
	piece := make([]byte, 0, size)
	for len(piece) < cap(piece) && b.ended == nil {
		var n int
		n, b.ended = b.ReadCloser.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
	}
	return piece
}

// Read implements io.Reader.
func (b *aheadBody) Read(p []byte) (int, error) {
	if n, _ := b.pieces.Read(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	if b.ended != nil {
		return 0, b.ended
	}
	return b.ReadCloser.Read(p)
}

// Close implements io.Closer. It may be called again.
func (b *aheadBody) Close() error {
	b.room.Release(b.taken)
	b.taken, b.pieces = 0, nil
	return b.ReadCloser.Close()
}
