package cache

import "github.com/listfacade/listfacade/internal/wire"

// gatherAt is the part of a lane's memory that blocks may take whose objects are gone in part, before the others are
// moved: an eighth.
const gatherAt = 8

// leaves notes that an object is neither in the State nor in history any more. Its bytes may share a block of memory
// with those of others, which all stays for one of them.
func (l *Lane) leaves(o *Object) {
	if o.Item().Leave() {
		l.counters.sparse.Add(1)
	}
}

// gather moves the objects of the State, and those that history has alone, out of the blocks that others are gone from,
// side by side into new ones. So what is gone takes a quarter of the memory in blocks and an eighth of the lane's at
// the most. It looks at all objects, each time that many are gone.
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

// withHistory yields the State's objects and those that events have alone.
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
			continue // it has been dropped meanwhile
		}
		for o := range e.own {
			if !yield(o) {
				return
			}
		}
	}
}

// move gives objects the same bytes in another place.
func (l *Lane) move(objects []*Object) {
	moved := make([]wire.Item, len(objects))
	for i, o := range objects {
		moved[i] = l.packer.by.Move(o.Item())
		l.packer.count++
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	for i, o := range objects {
		item := moved[i] // or each would keep all of them
		verifyPacked(o.Item(), &item, l.verifying)
		o.item.Store(&item)
	}
}

// alone gives the objects that a gap brought memory of their own: most of the list that they came with is dropped.
func (c *comparison) alone() {
	for _, d := range c.changes {
		if !d.now.Item().Packed() {
			continue
		}
		item := d.now.Item().Alone()
		d.now.item.Store(&item)
	}
}
