package item

import (
	"bytes"
	"sync/atomic"
)

const (
	// BlockSize is the size in bytes of the memory that packed items share. Separate allocations would take about one
	// fifteenth more, and would fragment the heap.
	BlockSize = 64 << 10
	// blockMost is the maximum size in bytes of an item in a block. Larger items would waste more of a block's end.
	blockMost = BlockSize / 16
	// sparse is the size in bytes of dropped items above which the other items of a block should move.
	sparse = BlockSize / 4
)

// block is the data that packed items share: a dictionary, and memory unless the items have their own. The memory is
// freed with the last item.
type block struct {
	dictionary *Dictionary
	dropped    atomic.Int64 // bytes of dropped items
}

// Lay is like Pack, but stores the packed bytes in a shared block. This takes less memory if most items of a block are
// kept. The caller must call Leave for each item that it drops.
func (p *Packer) Lay(it *Item) Item {
	if it.by != nil || len(it.data) == 0 {
		return *it
	}
	return p.pack(it, it.data, p.lay)
}

// Move returns a packed item with its bytes in the current block. If the item is large or has another dictionary, or if
// p is nil, the bytes get their own memory instead.
func (p *Packer) Move(it *Item) Item {
	moved := *it
	if p == nil || it.dictionary() != p.dictionary {
		moved.data, moved.by = bytes.Clone(it.data), &it.dictionary().alone
		return moved
	}
	moved.data, moved.by = p.lay(it.data)
	return moved
}

func (p *Packer) lay(packed []byte) ([]byte, *block) {
	if len(packed) > blockMost {
		return p.alone(packed)
	}
	if len(p.free) < len(packed) {
		p.free, p.block = make([]byte, BlockSize), &block{dictionary: p.dictionary}
	}
	n := copy(p.free, packed)
	data := p.free[:n:n]
	p.free = p.free[n:]
	return data, p.block
}

// Alone returns the item with bytes that share no memory with other items.
func (it *Item) Alone() Item {
	alone := *it
	if it.by != nil && it.by != &it.by.dictionary.alone {
		alone.data, alone.by = bytes.Clone(it.data), &it.by.dictionary.alone
	}
	return alone
}

// Leave records that an item is dropped. It must be called only once for an item. It returns true for the call that
// makes the block sparse. The caller should then move the remaining items. Safe for concurrent use.
func (it *Item) Leave() bool {
	if it.by == nil || it.by == &it.by.dictionary.alone {
		return false
	}
	n := int64(len(it.data))
	dropped := it.by.dropped.Add(n)
	return dropped > sparse && dropped-n <= sparse
}

// Sparse reports whether the item should move, because more than a quarter of its block belongs to dropped items.
func (it *Item) Sparse() bool { return it.by != nil && it.by.dropped.Load() > sparse }
