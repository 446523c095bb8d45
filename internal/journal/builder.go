package journal

import (
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// builder collects records until they fill a block. Its buffers are reused, so that a process needs one per concurrent
// writer only.
type builder struct {
	h      header
	block  []byte // headerSize bytes, then records
	packed []byte // headerSize bytes, then compressed records
	plain  int    // bytes of payloads that are not compressed
}

// begin empties the builder for records after the given one.
func (b *builder) begin(kind blockKind, after *output) {
	b.h = header{
		kind: kind, number: after.blocks, segment: after.id, first: after.rv, last: after.rv,
		earliest: after.until, until: after.until,
	}
	if cap(b.block) == 0 {
		b.block = make([]byte, headerSize, headerSize+blockSize/4)
	}
	b.block, b.plain = b.block[:headerSize], 0
}

// content returns the number of bytes of the records.
func (b *builder) content() int { return len(b.block) - headerSize }

// add adds a record.
func (b *builder) add(r *Record) {
	if r.Kind.isEvent() {
		ms := r.Time.UnixMilli()
		if b.h.records == 0 {
			b.h.first, b.h.earliest = r.RV, ms
		}
		b.h.last, b.h.earliest, b.h.until = r.RV, min(b.h.earliest, ms), ms
	}
	b.h.records++
	before := len(b.block)
	b.block = r.append(b.block)
	if r.Plain {
		b.plain += len(b.block) - before
	}
}

// finish returns the block. It is valid until the next call of begin or finish.
func (b *builder) finish(zip *zstd.Encoder) []byte {
	block := b.block
	b.h.size, b.h.codec = uint32(b.content()), asIs //nolint:gosec // at most contentLimit
	if b.plain > b.content()/2 {
		b.packed = zip.EncodeAll(b.block[headerSize:], append(b.packed[:0], b.block[:headerSize]...))
		if len(b.packed) < len(b.block) {
			block, b.h.codec = b.packed, zstdCodec
		}
	}
	b.h.stored = uint32(len(block) - headerSize) //nolint:gosec // at most contentLimit
	b.h.sum = crc32.Checksum(block[headerSize:], castagnoli)
	b.h.put(block)
	return block
}
