package journal

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	// format is the first line of a segment.
	format        = formatName + formatVersion + "\n"
	formatName    = "listfacade journal "
	formatVersion = "1"
	formatLimit   = len(format) + 8

	blockMagic = "lfjb"
	// headerSize is the size of a block's header in bytes.
	headerSize = 72
	// blockSize is the size of a block's content, in bytes, at which the writer ends the block.
	blockSize = 1 << 20
	// contentLimit is the maximum size of a block's content in bytes. Only a block with one large record is larger
	// than blockSize.
	contentLimit = 64 << 20
)

// blockKind is what the records of a block are.
type blockKind byte

const (
	startBlock      blockKind = iota + 1 // the start as JSON; first block of a segment
	dictionaryBlock                      // one dictionary
	objectsBlock                         // objects of the checkpoint
	completeBlock                        // no content; ends the checkpoint
	eventsBlock                          // events and progress
	endBlock                             // no content; last block of a segment that was closed
)

// codec says how the content of a block is stored.
type codec byte

const (
	asIs codec = iota
	zstdCodec
)

// header is the header of a block.
type header struct {
	kind     blockKind
	codec    codec
	stored   uint32 // size of the content in the file
	size     uint32 // size of the content
	number   uint32 // number of blocks before it in the segment
	records  uint32 // of the checkpoint in a completeBlock
	first    uint64 // lowest resourceVersion of the events; of the checkpoint if the block has no events
	last     uint64 // highest resourceVersion of the events; of the last event before if the block has no events
	earliest int64  // lowest time of the events, in milliseconds; of the segment in an endBlock
	until    int64  // time of the last event; of the last event before if the block has no events
	segment  uint64 // random number of the segment
	sum      uint32 // CRC-32C of the stored content
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// put writes the header into the first headerSize bytes of b.
func (h *header) put(b []byte) {
	e := binary.BigEndian
	copy(b, blockMagic)
	b[4], b[5], b[6], b[7] = byte(h.kind), byte(h.codec), 0, 0
	e.PutUint32(b[8:], h.stored)
	e.PutUint32(b[12:], h.size)
	e.PutUint32(b[16:], h.number)
	e.PutUint32(b[20:], h.records)
	e.PutUint64(b[24:], h.first)
	e.PutUint64(b[32:], h.last)
	e.PutUint64(b[40:], uint64(h.earliest)) //nolint:gosec // read back by get
	e.PutUint64(b[48:], uint64(h.until))    //nolint:gosec // read back by get
	e.PutUint64(b[56:], h.segment)
	e.PutUint32(b[64:], h.sum)
	e.PutUint32(b[68:], crc32.Checksum(b[:68], castagnoli))
}

// get reads the header from the first headerSize bytes of b. It reports whether they are a header of the segment with
// the given random number; 0 accepts any.
func (h *header) get(b []byte, segment uint64) bool {
	e := binary.BigEndian
	if string(b[:4]) != blockMagic || e.Uint32(b[68:]) != crc32.Checksum(b[:68], castagnoli) {
		return false
	}
	*h = header{
		kind: blockKind(b[4]), codec: codec(b[5]), stored: e.Uint32(b[8:]), size: e.Uint32(b[12:]), number: e.Uint32(b[16:]),
		records: e.Uint32(b[20:]), first: e.Uint64(b[24:]), last: e.Uint64(b[32:]),
		earliest: int64(e.Uint64(b[40:])), until: int64(e.Uint64(b[48:])), //nolint:gosec // written by put
		segment: e.Uint64(b[56:]), sum: e.Uint32(b[64:]),
	}
	return (segment == 0 || h.segment == segment) && h.stored <= contentLimit && h.size <= contentLimit
}

// end returns the offset after a block at the given offset.
func (h *header) end(at int64) int64 { return at + headerSize + int64(h.stored) }
