package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// blocks reads the blocks of a segment one after the other.
type blocks struct {
	file     io.ReaderAt
	size     int64 // of the file
	at       int64 // offset of the next block
	segment  uint64
	number   uint32 // of the next block
	stored   []byte
	content  []byte
	unzip    *zstd.Decoder
	complete bool // the end of the checkpoint was read
	finished bool // an end block was read
}

// peek returns the header of the next block without moving. It reports false at the end of the segment and at a block
// that is not valid.
func (b *blocks) peek() (h header, ok bool) {
	var bytes [headerSize]byte
	if b.finished || b.size-b.at < headerSize {
		return h, false
	}
	if n, _ := b.file.ReadAt(bytes[:], b.at); n < headerSize {
		return h, false
	}
	ok = h.get(bytes[:], b.segment) && h.number == b.number && h.end(b.at) <= b.size
	return h, ok
}

// skip moves behind the block with the given header.
func (b *blocks) skip(h *header) {
	b.at = h.end(b.at)
	b.number++
	b.complete = b.complete || h.kind == completeBlock
	b.finished = h.kind == endBlock
}

// whole returns a *Damage if the end of the checkpoint was not read.
func (b *blocks) whole() error {
	if b.complete {
		return nil
	}
	return &Damage{b.at, "checkpoint is incomplete"}
}

// verify reads the stored content of the next block and compares its checksum. It does not move.
func (b *blocks) verify(h *header) bool {
	if cap(b.stored) < int(h.stored) {
		b.stored = make([]byte, h.stored)
	}
	b.stored = b.stored[:h.stored]
	n, _ := b.file.ReadAt(b.stored, b.at+headerSize)
	return n == len(b.stored) && crc32.Checksum(b.stored, castagnoli) == h.sum
}

// unpack returns the content of the block that was verified last. It is valid until the next call of verify or unpack.
func (b *blocks) unpack(h *header) ([]byte, error) {
	switch {
	case h.codec == asIs && h.stored == h.size:
		return b.stored, nil
	case h.codec != zstdCodec:
		return nil, errors.New("unknown compression")
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
	if err == nil && len(b.content) != int(h.size) {
		err = errors.New("size differs from the header")
	}
	return b.content, err
}

// close frees the memory of the decoder.
func (b *blocks) close() {
	if b.unzip != nil {
		b.unzip.Close()
	}
}

// damage returns a *Damage if a valid block follows the block at b.at, which is not valid. Otherwise that block is the
// torn end of the segment, and damage returns nil.
func (b *blocks) damage(ctx context.Context, reason string) error {
	const chunk = 1 << 20
	buffer := make([]byte, min(chunk+headerSize, b.size-b.at))
	for from := b.at + 1; b.size-from >= headerSize; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := b.file.ReadAt(buffer[:min(int64(len(buffer)), b.size-from)], from)
		if n < headerSize {
			return ignoreEOF(err)
		}
		if b.hasHeader(buffer[:n]) {
			return &Damage{b.at, reason}
		}
		from += int64(n) - headerSize + 1
	}
	return b.whole()
}

// hasHeader reports whether the header of a later block of the segment is in data.
func (b *blocks) hasHeader(data []byte) bool {
	for at := 0; ; at++ {
		found := bytes.Index(data[at:], []byte(blockMagic))
		if at += found; found < 0 || len(data)-at < headerSize {
			return false
		}
		if h := (header{}); h.get(data[at:], b.segment) && h.number >= b.number {
			return true
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Records returns the segment's records in the order in which they were written: the checkpoint, then the events. It
// ends without an error at a torn end. At damage before that, it yields an error that is a *Damage; the records before
// it are valid. It yields fs.ErrNotExist if the segment was removed, and the context's cause if the context ends. The
// file may grow meanwhile.
func (s *Segment) Records(ctx context.Context) iter.Seq2[Record, error] {
	return s.read(ctx, func(*header) bool { return true })
}

// Events returns the dictionaries of the segment, and its events and progress after a resourceVersion. For errors, see
// Records.
func (s *Segment) Events(ctx context.Context, after uint64) iter.Seq2[Record, error] {
	all := s.read(ctx, func(h *header) bool {
		return h.kind == dictionaryBlock || h.kind == eventsBlock && h.last > after
	})
	return func(yield func(Record, error) bool) {
		for r, err := range all {
			if (err != nil || !r.Kind.isEvent() || r.RV > after) && !yield(r, err) {
				return
			}
		}
	}
}

// read returns the records of the blocks that the function selects.
func (s *Segment) read(ctx context.Context, selects func(*header) bool) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		file, size, err := openFile(s.Path, os.O_RDONLY)
		if err != nil {
			yield(Record{}, fmt.Errorf("open segment: %w", err))
			return
		}
		defer func() { _ = file.Close() }()
		b := &blocks{file: file, size: size}
		defer b.close()
		if err := b.all(ctx, selects, func(r Record) bool { return yield(r, nil) }); err != nil {
			yield(Record{}, fmt.Errorf("read %s: %w", s.Path, err))
		}
	}
}

// all reads a segment from its first byte: it calls the function with the records of the selected blocks until it
// returns false or the segment ends.
func (b *blocks) all(ctx context.Context, selects func(*header) bool, yield func(Record) bool) error {
	if _, err := b.start(); err != nil {
		return err
	}
	return b.each(ctx, selects, yield)
}

// each reads the blocks after the first one.
func (b *blocks) each(ctx context.Context, selects func(*header) bool, yield func(Record) bool) error {
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
			return &Damage{b.at, "unpack block: " + err.Error()}
		}
		if goesOn, err := b.records(&h, content, yield); err != nil || !goesOn {
			return err
		}
		b.skip(&h)
	}
}

// records calls the function with the records of one block until it returns false.
func (b *blocks) records(h *header, content []byte, yield func(Record) bool) (goesOn bool, err error) {
	if h.kind == completeBlock || h.kind == endBlock || h.kind == startBlock {
		return true, nil
	}
	c := cursor{rest: content}
	for range h.records {
		if len(c.rest) == 0 {
			return false, &Damage{b.at, "missing record"}
		}
		r := c.next()
		if c.broken || r.Kind.block() != h.kind {
			return false, &Damage{b.at, "invalid record"}
		}
		if !yield(r) {
			return false, nil
		}
	}
	if len(c.rest) > 0 {
		return false, &Damage{b.at, "more bytes than records"}
	}
	return true, nil
}

// at returns the last record at or before a time, in the order of writing. The checkpoint counts as a record. At damage
// it returns the last one before the damage.
func (s *Segment) at(ctx context.Context, t time.Time) (rv uint64, recorded time.Time, err error) {
	rv, recorded = s.RV, s.Time
	late := func(h *header) bool { return h.kind == eventsBlock && !milliseconds(h.earliest).After(t) }
	for r, err := range s.read(ctx, late) {
		switch {
		case errors.Is(err, ErrDamaged):
			return rv, recorded, nil
		case err != nil:
			return 0, time.Time{}, err
		case r.Kind.isEvent() && !r.Time.After(t):
			rv, recorded = r.RV, r.Time
		}
	}
	return rv, recorded, nil
}
