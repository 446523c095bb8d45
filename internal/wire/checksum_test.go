package wire

import (
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io"
	"testing"
)

// FuzzMember writes text in pieces, some of them precompressed. It reads the member with the standard library, which
// checks the checksum.
func FuzzMember(f *testing.F) {
	f.Add([]byte("a"), uint16(1), uint16(0))
	f.Add(bytes.Repeat([]byte("0123456789"), 20_000), uint16(1000), uint16(0b1010_1100))
	f.Add(bytes.Repeat([]byte{0}, 300_000), uint16(40_000), uint16(0b1111_0000))
	f.Fuzz(func(t *testing.T, text []byte, step, precompressed uint16) {
		text = append(bytes.Repeat([]byte("x"), compressFrom), text...)
		var out bytes.Buffer
		m := &member{w: &out, allowed: true, announce: func() {}}
		for i, rest := 0, text; len(rest) > 0; i++ {
			piece := rest[:min(int(step)+1, len(rest))]
			rest = rest[len(piece):]
			var err error
			if precompressed>>(i%16)&1 != 0 && m.takes(len(piece)) {
				err = m.splice(Deflate(piece))
			} else {
				_, err = m.Write(piece)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if len(text) == compressFrom {
			return // too small to be compressed
		}
		z, err := gzip.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		z.Multistream(false)
		got, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("got %d bytes, %v, want %d", len(got), err, len(text))
		}
		if out.Len() > 0 {
			t.Errorf("got %d bytes after the member, want none", out.Len())
		}
	})
}

// FuzzChecksum compares a joined checksum with the checksum of the concatenated text.
func FuzzChecksum(f *testing.F) {
	f.Add([]byte(""), []byte(""))
	f.Add([]byte("a"), []byte(""))
	f.Add([]byte(""), []byte("b"))
	f.Add([]byte("abc"), bytes.Repeat([]byte("0123456789"), 100_000))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var sum, next checksum
		sum.write(first)
		next.write(second)
		sum.join(&Deflated{sum: next, shift: shiftBy(len(second))})
		both := append(bytes.Clone(first), second...)
		if want := crc32.ChecksumIEEE(both); sum.crc != want || int(sum.length) != len(both) {
			t.Errorf("%d bytes: got CRC %08x of %d bytes, want %08x", len(both), sum.crc, sum.length, want)
		}
	})
}

// Precompressed text can be written as a complete member.
func TestPrecompressedTextIsAMember(t *testing.T) {
	var b bytes.Buffer
	for _, text := range []string{"", "a\n", string(bytes.Repeat([]byte("frames\n"), 30_000))} {
		if err := WritePrecompressed(&b, Deflate([]byte(text))); err != nil {
			t.Fatal(err)
		}
		if got := gunzip(t, &b); got != text {
			t.Errorf("got %d bytes, want %d", len(got), len(text))
		}
	}
}
