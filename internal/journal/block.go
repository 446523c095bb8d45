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
	headerSize = 72
	// blockSize is the number of bytes of content at which the writer ends a block.
	blockSize = 4 << 20
	// contentLimit is the maximum size of a block's content, in bytes. A block exceeds blockSize only by its last record.
	contentLimit = 64 << 20
)

type blockKind byte

const (
	startBlock      blockKind = iota + 1 // the start as JSON; first block of a segment
	dictionaryBlock                      // one dictionary
	objectsBlock                         // objects of the checkpoint
	completeBlock                        // no content; ends the checkpoint
	eventsBlock                          // events and progress
	endBlock                             // no content; last block of a segment that was closed
)

type codec byte

const (
	asIs codec = iota
	zstdCodec
)

// header is the header of a block. The fields are in the order of the file.
type header struct {
	Magic     [4]byte
	Kind      blockKind
	Codec     codec
	_         [2]byte
	Stored    uint32 // size of the content in the file
	Size      uint32 // size of the content before compression
	Number    uint32 // number of earlier blocks in the segment
	Records   uint32 // number of records; in a completeBlock or endBlock, number of objects of the checkpoint
	First     uint64 // lowest resourceVersion of the events; without events, that of the last event before the block
	Last      uint64 // highest resourceVersion of the events; without events, that of the last event before the block
	Earliest  int64  // lowest time of the events, in milliseconds; in an endBlock, of all records of the segment
	Until     int64  // time of the last event; without events, that of the last event before the block
	Segment   uint64 // random number of the segment
	Sum       uint32 // CRC-32C of the stored content
	HeaderSum uint32 // CRC-32C of the fields above
}

const sumAt = headerSize - 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h *header) put(b []byte) {
	copy(h.Magic[:], blockMagic)
	_, _ = binary.Encode(b, binary.BigEndian, h) // fails only if b is too short
	binary.BigEndian.PutUint32(b[sumAt:], crc32.Checksum(b[:sumAt], castagnoli))
}

// get reads the header from the first headerSize bytes of b. It reports whether they are a valid header of the segment
// with the given random number. The number 0 accepts any segment.
func (h *header) get(b []byte, segment uint64) bool {
	if string(b[:len(blockMagic)]) != blockMagic {
		return false
	}
	_, err := binary.Decode(b, binary.BigEndian, h)
	return err == nil && h.HeaderSum == crc32.Checksum(b[:sumAt], castagnoli) && (segment == 0 || h.Segment == segment) &&
		h.Stored <= contentLimit && h.Size <= contentLimit
}

func (h *header) end(at int64) int64 { return at + headerSize + int64(h.Stored) }
