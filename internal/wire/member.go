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

// member compresses a body into one gzip member if the client takes it and the body is large. It holds the first 128
// KiB back until it knows. What was compressed ahead becomes part of it as it is.
type member struct {
	w        io.Writer
	allowed  bool
	announce func() // called before the first byte of a compressed body
	held     []byte // what was written while it is not known yet whether the body is large
	out      *bufio.Writer
	flate    *flate.Writer // of what is compressed as it comes; nil when that is not under way
	sum      checksum
	length   int64 // of what was written, before it is compressed
}

// compressing tells whether the body is known to be large.
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
	case len(m.held)+len(p) <= compressFrom:
		m.held = append(m.held, p...)
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

// takes tells whether so many bytes more make the body one that is compressed.
func (m *member) takes(length int) bool {
	return m.allowed && (m.compressing() || len(m.held)+length > compressFrom)
}

// splice adds what was compressed ahead to a body that takes it.
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

// begin begins the member with what was held back.
func (m *member) begin() error {
	m.announce()
	m.out = outs.Get().(*bufio.Writer)
	m.out.Reset(m.w)
	if _, err := m.out.Write(memberHead); err != nil {
		return err
	}
	held := m.held
	m.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := m.write(held)
	return err
}

// outs collect what is compressed, since deflate writes a few hundred bytes at a time. That of an answer that broke off
// is garbage.
var outs = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, pieceSize) }}

// memberHead begins a gzip member without a name and a time (RFC 1952).
var memberHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// lastBlock is a deflate block of nothing that says that it is the last.
var lastBlock = []byte{3, 0}

// fewBytes are not worth a block that is compressed: a comma, a list's head or end.
const fewBytes = 256

// store writes a few bytes as a block of its own, as they are (RFC 1951).
func (m *member) store(p []byte) error {
	block := m.out.AvailableBuffer()
	block = append(block, 0)
	block = binary.LittleEndian.AppendUint16(block, uint16(len(p)))
	block = binary.LittleEndian.AppendUint16(block, ^uint16(len(p)))
	_, err := m.out.Write(append(block, p...))
	return err
}

// deflate compresses what comes.
func (m *member) deflate(p []byte) (int, error) {
	if m.flate == nil {
		m.flate = flates.Get().(*flate.Writer)
		m.flate.Reset(m.out)
	}
	return m.flate.Write(p)
}

// pause ends what is compressed as it comes on a byte. What follows must not refer to what was before: a decompressor's
// memory is of the last 32 KiB, whoever compressed them.
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

// Close completes the body; it does not close the writer below.
func (m *member) Close() error {
	if !m.compressing() {
		if len(m.held) == 0 {
			return nil
		}
		_, err := m.w.Write(m.held)
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
	err := m.out.Flush()
	m.out.Reset(io.Discard)
	outs.Put(m.out)
	return err
}
