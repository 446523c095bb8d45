package cache

import "github.com/listfacade/listfacade/internal/wire"

// gatherAt limits the memory in partly unused blocks to an eighth of the lane's memory. Above that, the remaining
// objects of these blocks are moved to new blocks.
const gatherAt = 8

// leaves records that neither the State nor history contains an object any more. The object's bytes may share a block
// of memory with other objects, and one remaining object keeps the complete block alive.
func (l *Lane) leaves(o *Object) {
	if o.Item().Leave() {
		l.counters.sparse.Add(1)
	}
}

// gather moves the objects of the State and of history out of partly unused blocks into new ones. Unused bytes
// therefore take at most a quarter of the memory in blocks, plus an eighth of the lane's memory. It visits all objects,
// but only after many objects have left.
func (l *Lane) gather() {
	s := l.state.Load()
	if s == nil || l.counters.sparse.Load()*wire.BlockSize*gatherAt < s.size-l.counters.saved.Load() {
		return
	}
	l.counters.sparse.Store(0)
	l.keepPacker()
	batch := make([]*Object, 0, packedAtOnce)
	for o := range s.withHistory {
		if !o.Item().Sparse() {
			continue
		}
		if batch = append(batch, o); len(batch) == packedAtOnce {
			l.move(batch)
			batch = batch[:0]
		}
		if l.isClosed() {
			return
		}
	}
	l.move(batch)
}

// withHistory yields the State's objects, and the objects that only events contain.
func (s *State) withHistory(yield func(*Object) bool) {
	for o := range s.Objects(Span{}) {
		if !yield(o) {
			return
		}
	}
	h := s.epoch.history
	for seq := h.held.Load().first; seq < s.seq; seq++ {
		e := h.at(seq)
		if e == nil {
			continue // history dropped the event in the meantime
		}
		for o := range e.own {
			if !yield(o) {
				return
			}
		}
	}
}

// move copies the packed bytes of objects to another block.
func (l *Lane) move(objects []*Object) {
	moved := make([]wire.Item, len(objects))
	for i, o := range objects {
		moved[i] = l.packer.by.Move(o.Item())
		l.packer.count++
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	for i, o := range objects {
		item := moved[i] // a pointer into moved would keep all of them alive
		verifyPacked(o.Item(), &item, l.verifying)
		o.item.Store(&item)
	}
}

// alone gives the objects of a comparison their own memory, because most of the list that they came with is dropped.
func (c *comparison) alone() {
	for _, d := range c.changes {
		if !d.now.Item().Packed() {
			continue
		}
		item := d.now.Item().Alone()
		d.now.item.Store(&item)
	}
}
