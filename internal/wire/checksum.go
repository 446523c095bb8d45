package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// checksum is the end of a gzip member in the making: the CRC-32 and the length of everything that it holds (RFC 1952).
type checksum struct {
	crc    uint32
	length uint32 // modulo 2^32, as the member's end has it
}

// write takes text into account.
func (c *checksum) write(text []byte) {
	c.crc = crc32.Update(c.crc, crc32.IEEETable, text)
	c.length += uint32(len(text))
}

// join takes text into account whose checksum is known, without looking at it.
func (c *checksum) join(d *Deflated) {
	c.crc = times(d.shift, c.crc) ^ d.sum.crc
	c.length += d.sum.length
}

// A CRC-32 is a polynomial over GF(2) modulo crc32.IEEE, its highest power in the lowest bit. That of two texts one
// behind the other is that of the first, times x for each bit of the second, plus that of the second.

// one is the polynomial 1.
const one = uint32(1) << 31

// times is a product of polynomials.
func times(a, b uint32) uint32 {
	product := uint32(0)
	for ; a != 0; a <<= 1 { // from the lowest power of a to the highest, while b becomes b times x
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

// shiftBy is what a CRC-32 is multiplied with when so many bytes follow.
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

// appendTo appends it as a member ends with it.
func (c *checksum) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, c.crc)
	return binary.LittleEndian.AppendUint32(dst, c.length)
}
