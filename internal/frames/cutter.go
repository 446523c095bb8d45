package frames

import "encoding/binary"

// Constants of RFC 9113, sections 4.1, 6.1 and 6.5.
const (
	headerLen = 9
	// least is the largest payload in bytes that every client accepts.
	least        = 16 << 10
	typeData     = 0
	typeSettings = 4
	endStream    = 1
	padded       = 8
	maxFrameSize = 5 // identifier in SETTINGS
)

// cutter splits large DATA frames into frames that every client accepts. All other frames are unchanged.
type cutter struct {
	head      [headerLen]byte
	have      int  // bytes of an incomplete header in head; the next write continues this header
	left      int  // remaining bytes of a frame that is not split
	cut       int  // remaining payload of a DATA frame that is split
	remaining int  // remaining bytes of the current part of this DATA frame
	flags     byte // flags of this DATA frame
}

// next returns the next bytes to send, which may be empty, and the unprocessed rest of p.
func (c *cutter) next(p []byte) (part, rest []byte) {
	if c.cut > 0 {
		return c.payload(p)
	}
	end := 0 // end of the bytes to send unchanged
	for end < len(p) {
		if c.left > 0 {
			n := min(c.left, len(p)-end)
			c.left, end = c.left-n, end+n
			continue
		}
		begun := c.have > 0
		n := copy(c.head[c.have:], p[end:])
		if c.have += n; c.have < headerLen {
			return p[:end], nil
		}
		c.have = 0
		length := length(c.head[:])
		switch {
		case c.head[3] == typeData && c.head[4]&padded == 0 && length > least:
			c.cut, c.remaining, c.flags = length, 0, c.head[4]
			return p[:end], p[end+n:]
		case begun:
			c.left = length
			return c.head[:], p[n:]
		default:
			c.left = headerLen + length
		}
	}
	return p, nil
}

// payload returns the next part of a frame that is split: a header or a piece of the payload.
func (c *cutter) payload(p []byte) (part, rest []byte) {
	if c.remaining == 0 {
		c.remaining = min(c.cut, least)
		putLength(c.head[:], c.remaining)
		c.head[4] = c.flags
		if c.remaining < c.cut {
			c.head[4] &^= endStream // only the last part may end the stream
		}
		return c.head[:], p
	}
	n := min(c.remaining, len(p))
	c.remaining, c.cut = c.remaining-n, c.cut-n
	return p[:n], p[n:]
}

func length(head []byte) int {
	return int(head[0])<<16 | int(binary.BigEndian.Uint16(head[1:]))
}

func putLength(head []byte, n int) {
	head[0] = byte(n >> 16)
	binary.BigEndian.PutUint16(head[1:], uint16(n)) // the lower 16 bits
}
