package cache

import "github.com/listfacade/listfacade/internal/wire"

// gatherAt is the part of a lane's memory that blocks may take whose objects have left in part, before the others are
// moved: an eighth.
const gatherAt = 8

// leaves notes that an object is no longer in the State. Its bytes may share a block of memory with those of others,
// which all stay for one of them.
func (l *Lane) leaves(o *Object) {
	if o.Item().Leave() {
		l.counters.sparse.Add(1)
	}
}

// gather moves the State's objects out of the blocks that others have left, side by side into new ones. So that what
// has left takes a quarter of the memory in all blocks and an eighth of the lane's at the most, until history forgets
// it. It looks at all objects, each time that many have left.
func (l *Lane) gather() {
	s := l.state.Load()
	if s == nil || l.counters.sparse.Load()*wire.BlockSize*gatherAt < s.size-l.counters.saved.Load() {
		return
	}
	l.counters.sparse.Store(0)
	l.keepPacker()
	batch := make([]*Object, 0, packedAtOnce)
	for o := range s.Objects(Span{}) {
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

// move gives objects that are still there the same bytes in another place.
func (l *Lane) move(objects []*Object) {
	moved := make([]wire.Item, len(objects))
	for i, o := range objects {
		moved[i] = l.packer.by.Move(o.Item())
		l.packer.count++
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	for i, o := range objects {
		if s.holds(o) {
			item := moved[i] // or each would keep all of them
			verifyPacked(o.Item(), &item, l.verifying)
			o.item.Store(&item)
		}
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
