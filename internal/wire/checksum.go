package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// checksum is the trailer of a gzip member: the CRC-32 and the length of the uncompressed text (RFC 1952).
type checksum struct {
	crc    uint32
	length uint32 // length of the text modulo 2^32, as in the trailer
}

func (c *checksum) write(text []byte) {
	c.crc = crc32.Update(c.crc, crc32.IEEETable, text)
	c.length += uint32(len(text))
}

// join adds precompressed text to the checksum without reading the text.
func (c *checksum) join(d *Deflated) {
	c.crc = times(d.shift, c.crc) ^ d.sum.crc
	c.length += d.sum.length
}

// A CRC-32 is a polynomial over GF(2) modulo crc32.IEEE, with the highest power in the lowest bit. To get the CRC of
// two concatenated texts, multiply the CRC of the first text by x for each bit of the second text. Then add the CRC of
// the second text. The constant one is the polynomial 1.
const one = uint32(1) << 31

// times returns the product of two polynomials.
func times(a, b uint32) uint32 {
	product := uint32(0)
	for ; a != 0; a <<= 1 { // from the lowest power of a to the highest; each step multiplies b by x
		if a&one != 0 {
			product ^= b
		}
		b = b>>1 ^ -(b&1)&crc32.IEEE
	}
	return product
}

// squares are x^1, x^2, x^4, x^8 and so on.
var squares = func() (powers [64]uint32) {
	powers[0] = one >> 1
	for i := 1; i < len(powers); i++ {
		powers[i] = times(powers[i-1], powers[i-1])
	}
	return powers
}()

// shiftBy returns the factor by which a CRC-32 is multiplied when the given number of bytes is appended.
func shiftBy(bytes int) uint32 {
	power := one
	for at := 3; bytes > 0; at++ { // a byte is x^8
		if bytes&1 != 0 {
			power = times(squares[at], power)
		}
		bytes >>= 1
	}
	return power
}

func (c *checksum) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, c.crc)
	return binary.LittleEndian.AppendUint32(dst, c.length)
}
