package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// blocks reads the blocks of a segment one after the other.
type blocks struct {
	file     io.ReaderAt
	size     int64 // size of the file in bytes
	at       int64 // offset of the next block
	segment  uint64
	number   uint32 // number of the next block
	stored   []byte
	content  []byte
	unzip    *zstd.Decoder
	complete bool // the end of the checkpoint was read
	finished bool // an end block was read
}

func (b *blocks) start() (s start, err error) {
	line := make([]byte, formatLimit)
	n, _ := b.file.ReadAt(line, 0)
	if line = line[:n]; len(line) < len(format) || string(line[:len(format)]) != format {
		return s, wrongFormat(line)
	}
	b.at = int64(len(format))
	h, ok := b.peek()
	if !ok || h.Kind != startBlock || !b.verify(&h) {
		return s, damaged(b.at, "invalid first block")
	}
	text, err := b.unpack(&h)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil || s.ID != h.Segment || s.ID == 0 {
		return s, damaged(b.at, "invalid start")
	}
	b.segment = s.ID
	b.skip(&h)
	return s, nil
}

func wrongFormat(line []byte) error {
	first, _, ok := strings.Cut(string(line), "\n")
	version, ours := strings.CutPrefix(first, formatName)
	if !ok || !ours {
		return damaged(0, "not a segment")
	}
	return fmt.Errorf("%w: got %q, want %q", ErrFormat, version, formatVersion)
}

// peek returns the header of the next block without moving. ok is false at the end of the segment and at an invalid
// header.
func (b *blocks) peek() (h header, ok bool) {
	var head [headerSize]byte
	if b.finished || b.size-b.at < headerSize {
		return h, false
	}
	if n, _ := b.file.ReadAt(head[:], b.at); n < headerSize {
		return h, false
	}
	ok = h.get(head[:], b.segment) && h.Number == b.number && h.end(b.at) <= b.size
	return h, ok
}

func (b *blocks) skip(h *header) {
	b.at = h.end(b.at)
	b.number++
	b.complete = b.complete || h.Kind == completeBlock
	b.finished = h.Kind == endBlock
}

func (b *blocks) whole() error {
	if b.complete {
		return nil
	}
	return damaged(b.at, "checkpoint is incomplete")
}

// verify reads the stored content of the next block and reports whether its checksum matches.
func (b *blocks) verify(h *header) bool {
	if cap(b.stored) < int(h.Stored) {
		b.stored = make([]byte, h.Stored)
	}
	b.stored = b.stored[:h.Stored]
	n, _ := b.file.ReadAt(b.stored, b.at+headerSize)
	return n == len(b.stored) && crc32.Checksum(b.stored, castagnoli) == h.Sum
}

// unpack returns the content of the block that verify read last. It is valid until the next call of verify or unpack.
func (b *blocks) unpack(h *header) ([]byte, error) {
	switch {
	case h.Codec == asIs && h.Stored == h.Size:
		return b.stored, nil
	case h.Codec != zstdCodec:
		return nil, errors.New("unknown compression or wrong size")
	}
	if b.unzip == nil {
		var err error
		b.unzip, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(contentLimit))
		if err != nil {
			return nil, err
		}
	}
	var err error
	b.content, err = b.unzip.DecodeAll(b.stored, b.content[:0])
	if err == nil && len(b.content) != int(h.Size) {
		err = errors.New("size differs from the header")
	}
	return b.content, err
}

func (b *blocks) close() {
	if b.unzip != nil {
		b.unzip.Close()
	}
}

// damage judges an invalid block at b.at. It returns ErrDamaged if a valid header of a later block follows, or if the
// checkpoint is incomplete. Otherwise the block is the torn end of the segment, and damage returns nil.
func (b *blocks) damage(ctx context.Context, reason string) error {
	const chunk = 1 << 20
	buffer := make([]byte, min(chunk+headerSize, b.size-b.at))
	for from := b.at + 1; b.size-from >= headerSize; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, _ := b.file.ReadAt(buffer[:min(int64(len(buffer)), b.size-from)], from)
		if n < headerSize {
			break // the file became shorter
		}
		if b.hasHeader(buffer[:n]) {
			return damaged(b.at, reason)
		}
		from += int64(n) - headerSize + 1
	}
	return b.whole()
}

func (b *blocks) hasHeader(data []byte) bool {
	for at := 0; ; at++ {
		found := bytes.Index(data[at:], []byte(blockMagic))
		if at += found; found < 0 || len(data)-at < headerSize {
			return false
		}
		if h := (header{}); h.get(data[at:], b.segment) && h.Number >= b.number {
			return true
		}
	}
}

// all reads a segment from its first byte. It calls yield with the records of the selected blocks until yield returns
// false or the segment ends.
func (b *blocks) all(ctx context.Context, selects func(*header) bool, yield func(Record) bool) error {
	if _, err := b.start(); err != nil {
		return err
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		h, ok := b.peek()
		switch {
		case !ok && (b.finished || b.at == b.size):
			return b.whole()
		case !ok:
			return b.damage(ctx, "invalid block header")
		case !selects(&h):
			b.skip(&h)
			continue
		case !b.verify(&h):
			return b.damage(ctx, "checksum of the block does not match")
		}
		content, err := b.unpack(&h)
		if err != nil {
			return damaged(b.at, "unpack block: "+err.Error())
		}
		if goesOn, err := b.records(&h, content, yield); err != nil || !goesOn {
			return err
		}
		b.skip(&h)
	}
}

func (b *blocks) records(h *header, content []byte, yield func(Record) bool) (goesOn bool, err error) {
	if h.Kind == completeBlock || h.Kind == endBlock || h.Kind == startBlock {
		return true, nil
	}
	c := cursor{rest: content}
	for range h.Records {
		if len(c.rest) == 0 {
			return false, damaged(b.at, "missing record")
		}
		r := c.next()
		if c.broken || r.Kind.block() != h.Kind {
			return false, damaged(b.at, "invalid record")
		}
		if !yield(r) {
			return false, nil
		}
	}
	if len(c.rest) > 0 {
		return false, damaged(b.at, "bytes after the last record")
	}
	return true, nil
}
