package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// seal corrects the magic bytes, numbers and checksums of a file's blocks, so that a fuzzer reaches the code behind
// them. It returns the number of records that the valid headers announce.
func seal(content []byte) (announced uint64) {
	copy(content, format)
	var segment []byte
	for at, number := len(format), uint32(0); len(content)-at >= headerSize; number++ {
		h := content[at : at+headerSize]
		copy(h, blockMagic)
		if segment == nil {
			segment = bytes.Clone(h[56:64])
		}
		copy(h[56:], segment)
		binary.BigEndian.PutUint32(h[16:], number)
		stored := int(binary.BigEndian.Uint32(h[8:]))
		at += headerSize
		if stored > len(content)-at {
			stored = len(content) - at
			binary.BigEndian.PutUint32(h[8:], uint32(stored))
		}
		announced += uint64(binary.BigEndian.Uint32(h[20:]))
		binary.BigEndian.PutUint32(h[64:], crc32.Checksum(content[at:at+stored], castagnoli))
		binary.BigEndian.PutUint32(h[68:], crc32.Checksum(h[:68], castagnoli))
		at += stored
	}
	return announced
}

// FuzzRead reads arbitrary files, as they are and with correct checksums. Reading ends without a panic, allocates no
// more than the limit of a block, and returns no more records than valid headers announce.
func FuzzRead(f *testing.F) {
	for _, ends := range []func(*Writer){crashed, closed} {
		content, _ := example(f, ends)
		f.Add(content)
		f.Add(content[:len(content)/2])
	}
	f.Add([]byte(format))
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _ = readBytes(t, content)
		sealed := bytes.Clone(content)
		announced := seal(sealed)
		if got, _ := readBytes(t, sealed); uint64(len(got)) > announced {
			t.Errorf("got %d records, want at most %d", len(got), announced)
		}
		b := &blocks{file: bytes.NewReader(sealed), size: int64(len(sealed))}
		defer b.close()
		if _, err := b.start(); err == nil {
			_ = (&Segment{}).bounds(b)
		}
	})
}
