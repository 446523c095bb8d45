package journal

import (
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// finish compresses a block with at least manyBytes bytes of records even if each payload is compressed already. This
// saves space because similar objects, and successive versions of an object, have much in common.
const manyBytes = 64 << 10

// builder collects records until they fill a block. It reuses its buffers, so a process needs only one builder per
// concurrent writer.
type builder struct {
	zip    *zstd.Encoder
	h      header
	block  []byte // headerSize bytes, then records
	packed []byte // headerSize bytes, then compressed records
	plain  int    // bytes of the records with Plain set
}

func (b *builder) begin(kind blockKind, after *output) {
	b.h = header{
		Kind: kind, Number: after.blocks, Segment: after.id, First: after.rv, Last: after.rv,
		Earliest: after.until, Until: after.until,
	}
	if cap(b.block) == 0 {
		b.block = make([]byte, headerSize, headerSize+blockSize/4)
	}
	b.block, b.plain = b.block[:headerSize], 0
}

func (b *builder) content() int { return len(b.block) - headerSize }

func (b *builder) add(r *Record) {
	if r.Kind.isEvent() {
		ms := r.Time.UnixMilli()
		if b.h.Records == 0 {
			b.h.First, b.h.Earliest = r.RV, ms
		}
		b.h.Last, b.h.Earliest, b.h.Until = r.RV, min(b.h.Earliest, ms), ms
	}
	b.h.Records++
	before := len(b.block)
	b.block = r.append(b.block)
	if r.Plain {
		b.plain += len(b.block) - before
	}
}

// finish returns the block. It is valid until the next call of begin or finish.
func (b *builder) finish() []byte {
	block := b.block
	b.h.Size, b.h.Codec = uint32(b.content()), asIs //nolint:gosec // at most contentLimit
	if b.plain > b.content()/2 || b.content() >= manyBytes {
		b.packed = b.zip.EncodeAll(b.block[headerSize:], append(b.packed[:0], b.block[:headerSize]...))
		if len(b.packed) < len(b.block) {
			block, b.h.Codec = b.packed, zstdCodec
		}
	}
	b.h.Stored = uint32(len(block) - headerSize) //nolint:gosec // at most contentLimit
	b.h.Sum = crc32.Checksum(block[headerSize:], castagnoli)
	b.h.put(block)
	return block
}
