package item

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// ErrDamaged is returned when stored bytes are not an item or a dictionary.
var ErrDamaged = errors.New("stored bytes are damaged")

// storedLimit is the maximum size in bytes of a stored item's plain bytes. Damaged bytes cannot take more memory.
const storedLimit = 64 << 20

// AppendStored appends an item in the format for disks. The format contains the number of the item's dictionary, the
// ends of the item's parts, and the item's bytes as they are in memory. The caller numbers the dictionaries from 1. The
// number of an item that is not packed is 0. AppendStored omits the other marks, because Stored has to scan the item in
// any case.
func AppendStored(dst []byte, it *Item, dictionary int) []byte {
	if (dictionary > 0) != it.Packed() {
		panic("BUG: stored item with a wrong dictionary")
	}
	for _, n := range []uint64{uint64(dictionary), uint64(it.size), uint64(it.marks.Object), uint64(it.marks.Cells)} {
		dst = binary.AppendUvarint(dst, n)
	}
	return append(dst, it.data...)
}

// DictionaryOf returns the dictionary of a packed item; nil if it is not packed.
func DictionaryOf(it *Item) *Dictionary { return it.dictionary() }

// Stored reads an item that AppendStored appended. It calls the function scan with the plain bytes, valid only during
// the call, and with the ends of the object and its cells. scan validates the bytes and returns all marks. Packed bytes
// of the item alias the stored bytes; plain bytes are copied. Stored returns ErrDamaged or the error of scan.
func Stored(stored []byte, by []*Dictionary,
	scan func(plain []byte, object, cells uint32) (Marks, error)) (Item, error) {
	var head [4]uint64
	for i := range head {
		value, n := binary.Uvarint(stored)
		if n <= 0 {
			return Item{}, fmt.Errorf("%w: item is cut off", ErrDamaged)
		}
		head[i], stored = value, stored[n:]
	}
	number, size, object, cells := head[0], head[1], head[2], head[3]
	if number > uint64(len(by)) || size > storedLimit || object > cells || cells > size {
		return Item{}, fmt.Errorf("%w: invalid item header: dictionary %d of %d, %d bytes", ErrDamaged, number, len(by), size)
	}
	it := Item{data: stored, size: uint32(size)}
	open := Opened{data: stored}
	if number > 0 {
		it.by = &by[number-1].alone
		var err error
		if open, err = tryOpen(&it); err != nil {
			return Item{}, err
		}
		defer open.Close()
	} else {
		it.data = bytes.Clone(stored)
	}
	if len(open.data) != int(size) {
		return Item{}, fmt.Errorf("%w: item with size %d has %d bytes", ErrDamaged, size, len(open.data))
	}
	marks, err := scan(open.data, uint32(object), uint32(cells))
	it.marks = marks
	return it, err
}

// tryOpen opens a packed item whose bytes may be damaged.
func tryOpen(it *Item) (open Opened, err error) {
	var head zstd.Header
	if err := head.Decode(it.data); err != nil || !head.HasFCS || head.FrameContentSize != uint64(it.size) {
		return Opened{}, fmt.Errorf("%w: invalid header of a packed item", ErrDamaged)
	}
	defer func() { // the library can panic for damaged bytes
		if why := recover(); why != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, why)
		}
	}()
	return Open(it), nil
}

// Properties of a stored dictionary.
const (
	storedTables byte = 1 << iota
	storedFast        // items are packed at fastLevel
)

// AppendStored appends the dictionary in the format of ReadDictionary.
func (d *Dictionary) AppendStored(dst []byte) []byte {
	var properties byte
	if d.tables {
		properties |= storedTables
	}
	if d.level == fastLevel {
		properties |= storedFast
	}
	return append(append(dst, properties), d.bytes...)
}

// ReadDictionary reads and copies the result of Dictionary.AppendStored. It returns ErrDamaged for other bytes.
func ReadDictionary(stored []byte) (d *Dictionary, err error) {
	if len(stored) == 0 || stored[0]&^(storedTables|storedFast) != 0 {
		return nil, fmt.Errorf("%w: unknown kind of dictionary", ErrDamaged)
	}
	defer func() {
		if why := recover(); why != nil {
			d, err = nil, fmt.Errorf("%w: %v", ErrDamaged, why)
		}
	}()
	made := newDictionary(bytes.Clone(stored[1:]), stored[0]&storedTables != 0)
	if stored[0]&storedFast != 0 {
		made.level = fastLevel
	}
	decoder, err := made.decoder()
	if err == nil {
		made.decoders.Put(decoder)
		_, err = made.encoder(plainLiterals)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return made, nil
}
