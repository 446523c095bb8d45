package wire

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// compressFrom is the size in bytes above which kube-apiserver compresses a body (semantics 6.6).
const compressFrom = 128 << 10

// member is the writer of a body. If the client accepts gzip, member buffers up to 128 KiB, and compresses a larger
// body into one gzip member. It copies precompressed text into this member unchanged.
type member struct {
	w        io.Writer
	allowed  bool
	announce func() // called before the first byte of a compressed body
	buffered []byte // written data while the final size is unknown
	out      *bufio.Writer
	flate    *flate.Writer // compressor for data that is not precompressed; nil when none is in use
	sum      checksum
	length   int64 // number of written bytes, before compression
}

func (m *member) compressing() bool { return m.out != nil }

// Write implements io.Writer.
func (m *member) Write(p []byte) (int, error) {
	m.length += int64(len(p))
	return m.write(p)
}

func (m *member) write(p []byte) (int, error) {
	switch {
	case !m.allowed:
		return m.w.Write(p)
	case m.compressing():
	case len(m.buffered)+len(p) <= compressFrom:
		m.buffered = append(m.buffered, p...)
		return len(p), nil
	default:
		if err := m.begin(); err != nil {
			return 0, err
		}
	}
	m.sum.write(p)
	if m.flate == nil && len(p) <= fewBytes {
		return len(p), m.store(p)
	}
	return m.deflate(p)
}

// takes reports whether the body is compressed after the given number of bytes is added.
func (m *member) takes(length int) bool {
	return m.allowed && (m.compressing() || len(m.buffered)+length > compressFrom)
}

// splice adds precompressed text. It must be called only if takes returned true.
func (m *member) splice(d *Deflated) error {
	if !m.compressing() {
		if err := m.begin(); err != nil {
			return err
		}
	}
	if err := m.pause(); err != nil {
		return err
	}
	m.sum.join(d)
	m.length += int64(d.Length())
	_, err := m.out.Write(d.blocks)
	return err
}

func (m *member) begin() error {
	m.announce()
	m.out = outs.Get().(*bufio.Writer)
	m.out.Reset(m.w)
	if _, err := m.out.Write(memberHead); err != nil {
		return err
	}
	buffered := m.buffered
	m.buffered = nil
	if len(buffered) == 0 {
		return nil
	}
	_, err := m.write(buffered)
	return err
}

// outs is a pool of buffers for compressed data, because deflate writes only a few hundred bytes at a time.
var outs = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, pieceSize) }}

// memberHead is the header of a gzip member without a name or a time (RFC 1952).
var memberHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// lastBlock is an empty deflate block that is marked as last.
var lastBlock = []byte{3, 0}

// fewBytes is the size in bytes up to which text is stored without compression: a comma, or a list's head or tail.
const fewBytes = 256

// store writes a few bytes as an uncompressed block (RFC 1951).
func (m *member) store(p []byte) error {
	block := m.out.AvailableBuffer()
	block = append(block, 0)
	block = binary.LittleEndian.AppendUint16(block, uint16(len(p)))
	block = binary.LittleEndian.AppendUint16(block, ^uint16(len(p)))
	_, err := m.out.Write(append(block, p...))
	return err
}

func (m *member) deflate(p []byte) (int, error) {
	if m.flate == nil {
		m.flate = flates.Get().(*flate.Writer)
		m.flate.Reset(m.out)
	}
	return m.flate.Write(p)
}

// pause ends the compressed data on a byte boundary and releases the compressor. Later data must not refer to earlier
// data, because the decompressor's window (the last 32 KiB) may include precompressed text.
func (m *member) pause() error {
	if m.flate == nil {
		return nil
	}
	err := m.flate.Flush()
	m.flate.Reset(io.Discard)
	flates.Put(m.flate)
	m.flate = nil
	return err
}

// Close completes the body. It does not close the underlying writer.
func (m *member) Close() error {
	if !m.compressing() {
		if len(m.buffered) == 0 {
			return nil
		}
		_, err := m.w.Write(m.buffered)
		return err
	}
	if err := m.pause(); err != nil {
		return err
	}
	if _, err := m.out.Write(append(m.out.AvailableBuffer(), lastBlock...)); err != nil {
		return err
	}
	if _, err := m.out.Write(m.sum.appendTo(m.out.AvailableBuffer())); err != nil {
		return err
	}
	if err := m.out.Flush(); err != nil {
		return err // HTTP/2 may still read the buffer, so it is not reused
	}
	m.out.Reset(io.Discard)
	outs.Put(m.out)
	return nil
}
