package cache

import "github.com/listfacade/listfacade/internal/wire"

// gatherAt limits how often objects are moved: gather moves objects only when the partly unused blocks take at least
// 1/gatherAt of the memory of the State's objects.
const gatherAt = 8

// leaves records that neither the State nor history contains the object any more. The object's bytes may share a block
// of memory with other objects, and one remaining object keeps the complete block alive.
func (l *Lane) leaves(o *Object) {
	if o.Item().Leave() {
		l.counters.sparse.Add(1)
	}
}

// gather moves objects out of partly unused blocks into new blocks. It visits all objects of the State and of history,
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

func (l *Lane) move(objects []*Object) {
	moved := make([]wire.Item, len(objects))
	for i, o := range objects {
		moved[i] = l.packer.by.Move(o.Item())
		l.packer.count++
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	for i, o := range objects {
		item := moved[i] // a pointer into moved would keep all items alive
		verifyPacked(o.Item(), &item, l.verifying)
		o.item.Store(&item)
	}
}

// alone moves the packed objects of the changes from the blocks of the new list to their own memory. The State keeps
// its own copies of the list's other objects. The blocks of the list can therefore be freed.
func (c *comparison) alone() {
	for _, d := range c.changes {
		if !d.now.Item().Packed() {
			continue
		}
		item := d.now.Item().Alone()
		d.now.item.Store(&item)
	}
}
