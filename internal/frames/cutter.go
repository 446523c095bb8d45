package frames

import "encoding/binary"

// What RFC 9113 says of frames: 4.1, 6.1, 6.5.
const (
	headerLen = 9
	// least is the largest payload in bytes that every client takes.
	least        = 16 << 10
	typeData     = 0
	typeSettings = 4
	endStream    = 1
	padded       = 8
	maxFrameSize = 5 // in SETTINGS
)

// cutter cuts the DATA frames of a stream of frames into ones that every client takes. Whatever else there is goes
// through as it is.
type cutter struct {
	head      [headerLen]byte
	have      int  // how many bytes of a header have come; the rest comes with the next write
	left      int  // bytes to come of a frame that goes through
	cut       int  // bytes to come of the payload of a DATA frame that is cut
	remaining int  // of these, those of the frame under way
	flags     byte // of the frame that is cut
}

// next returns what is to be sent of p next, which may be empty, and the rest of p.
func (c *cutter) next(p []byte) (part, rest []byte) {
	if c.cut > 0 {
		return c.payload(p)
	}
	end := 0 // of what goes through
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

// payload returns the next piece of a frame that is cut: a header, or what belongs behind it.
func (c *cutter) payload(p []byte) (part, rest []byte) {
	if c.remaining == 0 {
		c.remaining = min(c.cut, least)
		putLength(c.head[:], c.remaining)
		c.head[4] = c.flags
		if c.remaining < c.cut {
			c.head[4] &^= endStream // which only the last has
		}
		return c.head[:], p
	}
	n := min(c.remaining, len(p))
	c.remaining, c.cut = c.remaining-n, c.cut-n
	return p[:n], p[n:]
}

// length is how long the payload behind a header is.
func length(head []byte) int {
	return int(head[0])<<16 | int(binary.BigEndian.Uint16(head[1:]))
}

func putLength(head []byte, n int) {
	head[0] = byte(n >> 16)
	binary.BigEndian.PutUint16(head[1:], uint16(n)) //nolint:gosec // the lower half
}
