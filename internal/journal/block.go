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
	blockSize = 4 << 20
	// contentLimit is the maximum size of a block's content in bytes. Only a block with one large record is larger
	// than blockSize.
	contentLimit = 64 << 20
)

// blockKind is the type of a block.
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

// header is the header of a block, in the order of the file.
type header struct {
	Magic     [4]byte
	Kind      blockKind
	Codec     codec
	_         [2]byte
	Stored    uint32 // size of the content in the file
	Size      uint32 // size of the content
	Number    uint32 // number of blocks before it in the segment
	Records   uint32 // number of records; of the checkpoint in a completeBlock or endBlock
	First     uint64 // lowest resourceVersion of the events; without events, that of the last event before the block
	Last      uint64 // highest resourceVersion of the events, likewise
	Earliest  int64  // lowest time of the events, in milliseconds; of the segment in an endBlock
	Until     int64  // time of the last event; without events, that of the last event before the block
	Segment   uint64 // random number of the segment
	Sum       uint32 // CRC-32C of the stored content
	HeaderSum uint32 // CRC-32C of the fields above
}

// sumAt is the offset of header.HeaderSum.
const sumAt = headerSize - 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// put writes the header into the first headerSize bytes of b.
func (h *header) put(b []byte) {
	copy(h.Magic[:], blockMagic)
	_, _ = binary.Encode(b, binary.BigEndian, h) // fails only if b is too short
	binary.BigEndian.PutUint32(b[sumAt:], crc32.Checksum(b[:sumAt], castagnoli))
}

// get reads the header from the first headerSize bytes of b. It reports whether they are a header of the segment with
// the given random number; 0 accepts any.
func (h *header) get(b []byte, segment uint64) bool {
	if string(b[:len(blockMagic)]) != blockMagic {
		return false
	}
	_, err := binary.Decode(b, binary.BigEndian, h)
	return err == nil && h.HeaderSum == crc32.Checksum(b[:sumAt], castagnoli) && (segment == 0 || h.Segment == segment) &&
		h.Stored <= contentLimit && h.Size <= contentLimit
}

// end returns the offset after a block at the given offset.
func (h *header) end(at int64) int64 { return at + headerSize + int64(h.Stored) }
