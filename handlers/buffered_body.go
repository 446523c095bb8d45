package handlers

import (
	"io"
	"net"

	"golang.org/x/sync/semaphore"
)

const (
	// bufferedOfOne is the maximum number of bytes of one response that are read before the client accepts them.
	bufferedOfOne = 4 << 20
	// bufferedOverall is the maximum number of bytes of all responses together that are read before their clients
	// accept them. Above it, responses are read at the speed of their clients.
	bufferedOverall = 128 << 20
	// bufferedShare limits the sum of these bytes to a share of the memory budget.
	bufferedShare = 0.05
)

type bufferedBody struct {
	io.ReadCloser
	pieces    net.Buffers
	ended     error // error of the last Read; nil while the body may have more bytes
	admission *semaphore.Weighted
	taken     int64 // bytes acquired from admission
}

func newBufferedBody(body io.ReadCloser, admission *semaphore.Weighted) *bufferedBody {
	const least, most = 4 << 10, 256 << 10 // most objects are smaller than 4 KiB, and lists larger than 256 KiB
	b := &bufferedBody{ReadCloser: body, admission: admission}
	for size := int64(least); b.ended == nil && b.taken+size <= bufferedOfOne &&
		admission.TryAcquire(size); size = min(2*size, most) {
		b.taken += size
		b.pieces = append(b.pieces, b.piece(size))
	}
	return b
}

func (b *bufferedBody) piece(size int64) []byte {
	piece := make([]byte, 0, size)
	for len(piece) < cap(piece) && b.ended == nil {
		var n int
		n, b.ended = b.ReadCloser.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
	}
	return piece
}

func (b *bufferedBody) Read(p []byte) (int, error) {
	if n, _ := b.pieces.Read(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	if b.ended != nil {
		return 0, b.ended
	}
	return b.ReadCloser.Read(p)
}

// Close implements io.Closer. It may be called more than once.
func (b *bufferedBody) Close() error {
	b.admission.Release(b.taken)
	b.taken, b.pieces = 0, nil
	return b.ReadCloser.Close()
}
