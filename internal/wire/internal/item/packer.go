package item

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
)

// Packer packs items against a dictionary. It takes some 2 MB, so whoever packs one after the other keeps it, and only
// for as long. Used by one goroutine at a time.
type Packer struct {
	dictionary *Dictionary
	encoder    *zstd.Encoder
	buffer     []byte
}

// Packer makes one.
func (d *Dictionary) Packer() *Packer {
	encoder, err := d.encoder()
	if err != nil {
		panic("BUG: a dictionary that encoded before no longer does: " + err.Error())
	}
	return &Packer{dictionary: d, encoder: encoder}
}

// Of tells whether it packs against a dictionary; nil packs against none.
func (p *Packer) Of(d *Dictionary) bool { return p != nil && p.dictionary == d }

// worth is by how much an item must shrink to be kept packed: by a quarter, or each reader pays for nothing.
func worth(plain, packed int) bool { return packed < plain-plain/4 }

// Pack returns an item with the same content that takes less memory; the item itself when it would not, or is packed.
func (p *Packer) Pack(it *Item) Item {
	if it.by != nil || len(it.data) == 0 {
		return *it
	}
	return p.pack(it, it.data)
}

// Repack packs an item that may be packed against another dictionary.
func (p *Packer) Repack(it *Item) Item {
	open := Open(it)
	defer open.Close()
	return p.pack(it, open.Data())
}

// pack returns an item with this content; as it is when that is not worth it.
func (p *Packer) pack(it *Item, data []byte) Item {
	packed := *it
	if p.encode(data) && worth(len(data), len(p.buffer)) {
		packed.data, packed.by = bytes.Clone(p.buffer), p.dictionary
	}
	if cap(p.buffer) > keepBuffer {
		p.buffer = nil
	}
	return packed
}

// encode tells whether the buffer has the data now. The library panics where it finds itself in error; what users write
// into objects must not end the process.
func (p *Packer) encode(data []byte) (done bool) {
	defer func() {
		if recover() != nil {
			*p = *p.dictionary.Packer()
		}
	}()
	p.buffer = p.encoder.EncodeAll(data, p.buffer[:0])
	return true
}
