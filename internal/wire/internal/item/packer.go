package item

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
)

// Packer packs items with a dictionary. It takes 1 to 3 MB, and twice as much after an item that hardly shrinks. Reuse
// it for consecutive items, and drop it afterwards. Used by one goroutine at a time.
type Packer struct {
	dictionary *Dictionary
	encoders   [denseLiterals + 1]*zstd.Encoder // one for each value of literals, created on demand
	buffers    [denseLiterals + 1][]byte
	block      *block // current block
	free       []byte // free memory at the end of the current block, for Lay
	useless    int    // number of consecutive items for which entropy coding was useless
	skipped    int    // number of items since the last item that tried entropy coding
}

// Packer returns a packer for the dictionary.
func (d *Dictionary) Packer() *Packer { return &Packer{dictionary: d} }

// Of reports whether d is the packer's dictionary. A nil packer has none.
func (p *Packer) Of(d *Dictionary) bool { return p != nil && p.dictionary == d }

// worth reports whether an item shrinks by more than a quarter. A smaller saving is not worth the cost of unpacking.
func worth(plain, packed int) bool { return packed < plain-plain/4 }

// Pack returns the item in packed form. It returns the item unchanged if packing saves too little or the item is packed
// already.
func (p *Packer) Pack(it *Item) Item {
	if it.by != nil || len(it.data) == 0 {
		return *it
	}
	return p.pack(it, it.data, p.alone)
}

// Repack packs an item that may be packed with another dictionary.
func (p *Packer) Repack(it *Item) Item {
	open := Open(it)
	defer open.Close()
	return p.pack(it, open.Data(), p.alone)
}

func (p *Packer) alone(packed []byte) ([]byte, *block) {
	return bytes.Clone(packed), &p.dictionary.alone
}

// pack packs data and stores it with put. It returns the item unchanged if packing saves too little.
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

// alike is the compression ratio from which smallest omits entropy coding, because unpacking would cost each reader
// more than the smaller size saves.
const alike = 8

const (
	// enoughTries is the number of consecutive items with useless entropy coding after which most items skip it.
	enoughTries = 16
	// mostSkipped is the number of items that skip entropy coding before another item tries it.
	mostSkipped = 15
)

// smallest returns the packed data, valid until the next call, or the data itself if packing fails.
func (p *Packer) smallest(data []byte) []byte {
	plain := p.encode(data, plainLiterals)
	if len(plain) <= len(data)/alike || p.skips(data, plain) {
		return plain
	}
	if dense := p.encode(data, denseLiterals); worth(len(plain), len(dense)) {
		p.useless = 0
		return dense
	}
	p.useless++
	return plain
}

// skips reports whether to skip entropy coding, because it was useless for earlier items. Entropy coding costs more
// than all other packing. Data that hardly shrinks without entropy coding is always entropy-coded.
func (p *Packer) skips(data, plain []byte) bool {
	if p.useless < enoughTries || !worth(len(data), len(plain)) {
		return false
	}
	if p.skipped++; p.skipped <= mostSkipped {
		return true
	}
	p.skipped = 0
	return false
}

// encode returns the packed data, valid until the next call. It returns the data itself if packing fails. The library
// panics on internal errors, and the objects of a user must not end the process.
func (p *Packer) encode(data []byte, l literals) (packed []byte) {
	defer func() {
		if recover() != nil {
			p.encoders[l], packed = nil, data
		}
	}()
	if p.encoders[l] == nil {
		encoder, err := p.dictionary.encoder(l)
		if err != nil { // impossible for a dictionary from NewDictionary
			return data
		}
		p.encoders[l] = encoder
	}
	p.buffers[l] = p.encoders[l].EncodeAll(data, p.buffers[l][:0])
	return p.buffers[l]
}
