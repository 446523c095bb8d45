package wire

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"
)

// compressFrom is the size in bytes above which kube-apiserver compresses a body (semantics 6.6).
const compressFrom = 128 << 10

// member compresses a body into one gzip member if the client takes it and the body is large. It holds the first 128
// KiB back until it knows.
type member struct {
	w        io.Writer
	allowed  bool
	announce func() // called before the first byte of a compressed body
	held     []byte
	gzip     *gzip.Writer
	out      *bufio.Writer // deflate writes a few hundred bytes at a time
}

// Write implements io.Writer.
func (m *member) Write(p []byte) (int, error) {
	switch {
	case !m.allowed:
		return m.w.Write(p)
	case m.gzip != nil:
		return m.gzip.Write(p)
	case len(m.held)+len(p) <= compressFrom:
		m.held = append(m.held, p...)
		return len(p), nil
	}
	m.announce()
	m.gzip = compressors.Get().(*gzip.Writer)
	m.out = bufio.NewWriterSize(m.w, pieceSize)
	m.gzip.Reset(m.out)
	if _, err := m.gzip.Write(m.held); err != nil {
		return 0, err
	}
	return m.gzip.Write(p)
}

// Close completes the body; it does not close the writer below.
func (m *member) Close() error {
	if m.gzip == nil {
		if len(m.held) == 0 {
			return nil
		}
		_, err := m.w.Write(m.held)
		return err
	}
	err := m.gzip.Close()
	recycle(m.gzip)
	m.gzip = nil
	if err != nil {
		return err
	}
	return m.out.Flush()
}
