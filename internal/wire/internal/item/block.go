package item

import (
	"bytes"
	"sync/atomic"
)

const (
	// BlockSize is how many bytes of memory packed items share. An allocation for each would be rounded up by a
	// fifteenth, and leave gaps that nothing else fits into.
	BlockSize = 64 << 10
	// blockMost is how long an item in a block may be: what is left at a block's end is lost.
	blockMost = BlockSize / 16
	// sparse is how many bytes of a block may be of items that are gone: all of it stays in memory for the others.
	sparse = BlockSize / 4
)

// block is what packed items share: their dictionary and, of those that were laid side by side, the memory. That goes
// with the last of them.
type block struct {
	dictionary *Dictionary
	left       atomic.Int64 // bytes of items that are gone
}

// Lay is Pack, but puts what is packed beside what was laid before it. That takes less memory, as long as most of the
// items that were laid one after the other are kept: who drops one calls Leave.
func (p *Packer) Lay(it *Item) Item {
	if it.by != nil || len(it.data) == 0 {
		return *it
	}
	return p.pack(it, it.data, p.lay)
}

// Move returns a packed item with its bytes beside what was laid before it; alone when those are packed against another
// dictionary.
func (p *Packer) Move(it *Item) Item {
	if it.dictionary() != p.dictionary {
		return it.Alone()
	}
	moved := *it
	moved.data, moved.by = p.lay(it.data)
	return moved
}

// lay puts bytes into a block, if they are few.
func (p *Packer) lay(packed []byte) ([]byte, *block) {
	if len(packed) > blockMost {
		return p.alone(packed)
	}
	if len(p.room) < len(packed) {
		p.room, p.block = make([]byte, BlockSize), &block{dictionary: p.dictionary}
	}
	n := copy(p.room, packed)
	data := p.room[:n:n]
	p.room = p.room[n:]
	return data, p.block
}

// Alone returns the item with bytes that share no memory with another's.
func (it *Item) Alone() Item {
	alone := *it
	if it.by != nil && it.by != &it.by.dictionary.alone {
		alone.data, alone.by = bytes.Clone(it.data), &it.by.dictionary.alone
	}
	return alone
}

// Leave notes that an item is dropped; it is called once. It tells whether so many of its block are gone with it that
// the others had better move, once for a block. Safe for concurrent use.
func (it *Item) Leave() bool {
	if it.by == nil || it.by == &it.by.dictionary.alone {
		return false
	}
	n := int64(len(it.data))
	left := it.by.left.Add(n)
	return left > sparse && left-n <= sparse
}

// Sparse tells whether the item had better move: more than a quarter of its block is of items that are gone.
func (it *Item) Sparse() bool { return it.by != nil && it.by.left.Load() > sparse }
