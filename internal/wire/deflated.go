package wire

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Deflated is precompressed text: complete deflate blocks that end on a byte boundary, do not refer to earlier data,
// and are not marked as last. They can be copied to any position in a gzip member. Immutable.
type Deflated struct {
	blocks []byte
	sum    checksum // checksum of the uncompressed text
	items  []uint16 // positions of the text's items on their page
	shift  uint32   // factor for the CRC-32 of the preceding text (shiftBy)
}

// Size returns the compressed size in bytes.
func (d *Deflated) Size() int { return len(d.blocks) }

// Length returns the uncompressed size in bytes.
func (d *Deflated) Length() int { return int(d.sum.length) }

// precompressLevel is the compression level of text that is sent many times. With klauspost/compress, level 5 makes
// pages of pods 28 times smaller, at 830 MB/s. Level 1 makes them 10 times smaller and is hardly faster.
const precompressLevel = 5

// Pools of compressors, one for each level in use. They write raw deflate blocks.
var (
	precompressors = &sync.Pool{New: func() any { return newFlate(precompressLevel) }}
	flates         = &sync.Pool{New: func() any { return newFlate(flate.BestSpeed) }}
)

func newFlate(level int) *flate.Writer {
	w, err := flate.NewWriter(io.Discard, level)
	if err != nil {
		panic("BUG: invalid compression level: " + err.Error())
	}
	return w
}

// Deflate compresses text.
func Deflate(text []byte) *Deflated {
	out := scratch.Get().(*bytes.Buffer)
	defer scratch.Put(out)
	out.Reset()
	if err := appendFlate(out, precompressors, text); err != nil {
		panic("BUG: compress text: " + err.Error())
	}
	d := &Deflated{blocks: bytes.Clone(out.Bytes()), shift: shiftBy(len(text))}
	d.sum.write(text)
	return d
}

// appendFlate appends text as deflate blocks that end on a byte boundary.
func appendFlate(out *bytes.Buffer, level *sync.Pool, text []byte) error {
	z := level.Get().(*flate.Writer)
	defer level.Put(z)
	z.Reset(out)
	defer z.Reset(io.Discard)
	if _, err := z.Write(text); err != nil {
		return err
	}
	return z.Flush()
}

var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}
