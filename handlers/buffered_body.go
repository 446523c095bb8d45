package handlers

import (
	"io"
	"net"

	"golang.org/x/sync/semaphore"
)

const (
	// bufferedOfOne is how many bytes of one answer are read before its client takes them.
	bufferedOfOne = 4 << 20
	// bufferedOverall bounds them over all answers. What finds no room is copied as it comes.
	bufferedOverall = 128 << 20
	// bufferedShare is how much of the memory they may take.
	bufferedShare = 0.05
)

// bufferedBody is a body whose beginning was read already.
type bufferedBody struct {
	io.ReadCloser
	pieces    net.Buffers
	ended     error // what ended the body; nil when there is more
	admission *semaphore.Weighted
	taken     int64 // of the room
}

// newBufferedBody reads as much of a body as it may.
func newBufferedBody(body io.ReadCloser, room *semaphore.Weighted) *bufferedBody {
	const least, most = 4 << 10, 256 << 10 // most objects are smaller than one, lists larger than the other
	b := &bufferedBody{ReadCloser: body, admission: room}
	for size := int64(least); b.ended == nil && b.taken+size <= bufferedOfOne && room.TryAcquire(size); size = min(2*size, most) {
		b.taken += size
		b.pieces = append(b.pieces, b.piece(size))
	}
	return b
}

// piece reads so many bytes, or what is left.
func (b *bufferedBody) piece(size int64) []byte {
	piece := make([]byte, 0, size)
	for len(piece) < cap(piece) && b.ended == nil {
		var n int
		n, b.ended = b.ReadCloser.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
	}
	return piece
}

// Read implements io.Reader.
func (b *bufferedBody) Read(p []byte) (int, error) {
	if n, _ := b.pieces.Read(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	if b.ended != nil {
		return 0, b.ended
	}
	return b.ReadCloser.Read(p)
}

// Close implements io.Closer. It may be called again.
func (b *bufferedBody) Close() error {
	b.admission.Release(b.taken)
	b.taken, b.pieces = 0, nil
	return b.ReadCloser.Close()
}
