package item

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
)

// Packer packs items against a dictionary. It takes some 3 MB, and as much again once it has seen an item that hardly
// shrinks, so whoever packs one after the other keeps it, and only for as long. Used by one goroutine at a time.
type Packer struct {
	dictionary *Dictionary
	encoders   [denseLiterals + 1]*zstd.Encoder // made when they are needed
	buffers    [denseLiterals + 1][]byte
	block      *block // of room
	room       []byte // for what is laid
}

// Packer makes one.
func (d *Dictionary) Packer() *Packer { return &Packer{dictionary: d} }

// Of tells whether it packs against a dictionary; nil packs against none.
func (p *Packer) Of(d *Dictionary) bool { return p != nil && p.dictionary == d }

// worth is by how much an item must shrink to be kept packed: by a quarter, or each reader pays for nothing.
func worth(plain, packed int) bool { return packed < plain-plain/4 }

// Pack returns an item with the same content that takes less memory; the item itself when it would not, or is packed.
func (p *Packer) Pack(it *Item) Item {
	if it.by != nil || len(it.data) == 0 {
		return *it
	}
	return p.pack(it, it.data, p.alone)
}

// Repack packs an item that may be packed against another dictionary.
func (p *Packer) Repack(it *Item) Item {
	open := Open(it)
	defer open.Close()
	return p.pack(it, open.Data(), p.alone)
}

// alone puts bytes into memory of their own.
func (p *Packer) alone(packed []byte) ([]byte, *block) {
	return bytes.Clone(packed), &p.dictionary.alone
}

// pack returns an item with this content, put somewhere; as it is when that is not worth it.
func (p *Packer) pack(it *Item, data []byte, put func([]byte) ([]byte, *block)) Item {
	result := *it
	if packed := p.smallest(data); worth(len(data), len(packed)) {
		result.data, result.by = put(packed)
	}
	for i := range p.buffers {
		if cap(p.buffers[i]) > keepBuffer {
			p.buffers[i] = nil
		}
	}
	return result
}

// alike is how many times smaller an item gets that has hardly anything of its own: to write that in fewer bits would
// cost each reader more than it saves.
const alike = 8

// smallest returns the data packed, until it is called again; the data itself when that fails.
func (p *Packer) smallest(data []byte) []byte {
	plain := p.encode(data, plainLiterals)
	if len(plain) <= len(data)/alike {
		return plain
	}
	if dense := p.encode(data, denseLiterals); worth(len(plain), len(dense)) {
		return dense
	}
	return plain
}

// encode returns the data packed, until it is called again; the data itself when that fails. The library panics where
// it finds itself in error; what users write into objects must not end the process.
func (p *Packer) encode(data []byte, l literals) (packed []byte) {
	defer func() {
		if recover() != nil {
			p.encoders[l], packed = nil, data
		}
	}()
	if p.encoders[l] == nil {
		encoder, err := p.dictionary.encoder(l)
		if err != nil { // not of a dictionary that NewDictionary made
			return data
		}
		p.encoders[l] = encoder
	}
	p.buffers[l] = p.encoders[l].EncodeAll(data, p.buffers[l][:0])
	return p.buffers[l]
}
