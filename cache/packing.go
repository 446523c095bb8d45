package cache

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire"
)

// Packing says which objects a lane keeps compressed. The zero Packing compresses none.
type Packing struct {
	// From is the minimum total size in bytes of a lane's objects for packing them; 0 disables packing.
	From int64
	// After is how long a changed object stays unpacked. Objects that change again soon, or are read because they just
	// changed, are not worth packing.
	After time.Duration
}

// DefaultPacking packs lanes of at least 4 MiB, because a dictionary and its packer take half a megabyte or more.
var DefaultPacking = Packing{From: 4 << 20, After: 5 * time.Second}

const (
	// sampled is the maximum number of objects that a dictionary is made from.
	sampled = 300
	// packedAtOnce is about how many items Lane.Pack exchanges under the writers' lock at a time.
	packedAtOnce = 16
)

// packer keeps a lane's objects compressed. Filling packs the objects of a list when they arrive. Lane.Pack packs
// changed objects after the time Packing.After, whether they are in the State or only in history. Guarded by
// Lane.packing.
type packer struct {
	latest shrinkage // shrinkage of the objects packed with the lane's dictionary
	recent recent
	epoch  *epoch // epoch whose history was packed up to position upTo
	upTo   int64
	by     *wire.Packer // packer for the lane's dictionary; nil while there is nothing to pack
	count  int64
}

// learned is a dictionary of a lane's objects. It is immutable.
type learned struct {
	*wire.Dictionary
	ratio float64   // packed bytes divided by plain bytes, when the dictionary was made or adopted
	at    time.Time // time when the dictionary was made
}

// Filling receives the objects of an upstream list before they become the lane's content. It is used by one goroutine.
type Filling struct {
	lane  *Lane
	loose []*Object // objects that wait for a dictionary
	bytes int64     // size of the loose objects in bytes
	tries int       // attempts to make a dictionary
	by    *wire.Packer
	taken int64    // result of Memory
	made  *learned // dictionary that was made from the list, or adopted
	known shrinkage
}

// Fill returns a Filling, to which the caller adds each object of one list on arrival. Most objects of a large list are
// then packed before the list is complete.
func (l *Lane) Fill() *Filling {
	l.counters.filling.Store(0)
	return &Filling{lane: l}
}

// Drop discards a list that is not to become the lane's content, and the dictionary made from the list. It is only for
// a lane without a State.
func (f *Filling) Drop() {
	f.lane.counters.filling.Store(0)
	if f.made != nil {
		f.lane.dictionary.CompareAndSwap(f.made, nil)
	}
}

// Memory returns the bytes of memory that the objects take, with the history and indexes of a Restoration.
func (f *Filling) Memory() int64 { return f.taken }

func (f *Filling) count(bytes int64) {
	f.taken += bytes
	f.lane.counters.filling.Store(f.taken)
}

// Add counts the memory of an object that no other goroutine reads yet. If the lane packs and the list is large enough,
// Add packs the object.
func (f *Filling) Add(o *Object) {
	f.taken += int64(o.memory())
	f.pack(o)
	f.lane.counters.filling.Store(f.taken)
}

// Adopt sets the dictionary of the packed objects that are added next. If the lane packs, this dictionary also becomes
// the lane's own, until Drop.
func (f *Filling) Adopt(d *wire.Dictionary) {
	f.by = d.Packer()
	if f.lane.options.Packing.From > 0 {
		f.made, f.known = &learned{Dictionary: d, ratio: 1, at: time.Now()}, shrinkage{}
		f.lane.dictionary.Store(f.made)
	}
}

// judge sets the ratio of an adopted dictionary. The ratio is known only after the objects were added.
func (f *Filling) judge() {
	if f.made != nil && f.known.objects > 0 {
		judged := *f.made
		judged.ratio = f.known.ratio()
		f.lane.dictionary.CompareAndSwap(f.made, &judged)
	}
}

// keep moves the bytes of a packed object that no other goroutine reads yet, if possible into a block of f.by.
func (f *Filling) keep(o *Object) {
	item := o.Item()
	f.known.note(item)
	*item = f.by.Move(item)
}

func (f *Filling) pack(o *Object) {
	if o.Item().Packed() {
		f.keep(o)
		return
	}
	from := f.lane.options.Packing.From
	if from == 0 {
		return
	}
	if d := f.lane.dictionary.Load(); d != nil && f.by == nil {
		f.by = d.Packer()
	}
	if f.by != nil {
		f.lay(o)
		return
	}
	f.loose = append(f.loose, o)
	// No dictionary can be made from objects that have nothing in common, and a few more objects do not change that.
	// Each attempt therefore waits for about twice as many objects as the previous attempt.
	if f.bytes += int64(o.Size()); f.bytes < from<<f.tries {
		return
	}
	f.tries++
	if d := f.lane.learn(f.loose); d != nil {
		f.by, f.made = d.Packer(), d
		for _, o := range f.loose {
			f.lay(o)
		}
	}
	f.loose, f.bytes = nil, 0
}

// lay packs an object in place, because no other goroutine reads it yet and a new Item would waste memory.
func (f *Filling) lay(o *Object) {
	item := o.Item()
	packed := f.by.Lay(item)
	verifyPacked(item, &packed, f.lane.verifying)
	f.taken -= int64(item.Memory() - packed.Memory())
	*item = packed
}

// learn makes the lane's dictionary from some of these objects. It returns nil when they have nothing in common.
func (l *Lane) learn(objects []*Object) *learned {
	step := max(1, (len(objects)+sampled-1)/sampled)
	samples := make([]*wire.Item, 0, sampled+1)
	for i := 0; i < len(objects); i += step {
		samples = append(samples, objects[i].Item())
	}
	d, err := wire.NewDictionary(samples)
	if err != nil {
		return nil // a later call tries again with other objects
	}
	var s shrinkage
	by := d.Packer()
	for _, sample := range samples {
		packed := by.Repack(sample)
		s.note(&packed)
	}
	made := &learned{Dictionary: d, ratio: s.ratio(), at: time.Now()}
	l.dictionary.Store(made)
	return made
}

// exchange replaces an object's item by an equal one, if the new item takes less memory.
func (l *Lane) exchange(o *Object, packed wire.Item) (saved int64) {
	was := o.Item()
	saved = int64(was.Memory() - packed.Memory())
	if saved > 0 {
		o.item.Store(&packed)
		verifyPacked(was, &packed, l.verifying)
	}
	return saved
}

// Pack packs objects that last changed at least Packing.After before now. Call it periodically. It returns immediately
// while another call runs.
func (l *Lane) Pack(now time.Time) {
	if l.options.Packing.From == 0 || !l.packing.TryLock() {
		return
	}
	defer l.packing.Unlock()
	s := l.state.Load()
	if s == nil || s.size < l.options.Packing.From && l.dictionary.Load() == nil {
		return
	}
	before := l.packer.count
	l.pack(s, now)
	if l.packer.count == before {
		l.packer.by = nil
	}
}

func (l *Lane) pack(s *State, now time.Time) {
	p, d := &l.packer, l.dictionary.Load()
	switch {
	case d == nil:
		d = l.learn(s.sample())
	case p.latest.hasFallen(d, now):
		d = l.learn(p.recent.objects)
		p.latest = shrinkage{}
	}
	if d == nil {
		return
	}
	if first := s.epoch.history.held.Load().first; p.epoch != s.epoch || p.upTo < first {
		p.epoch, p.upTo = s.epoch, first // objects of older events are in the State, or were dropped
		l.packState(s)
	}
	l.packHistory(s.epoch, l.matured(s.epoch, now.Add(-l.options.Packing.After)))
	l.gather()
}

func (s *State) sample() []*Object {
	step := max(1, (s.Len()+sampled-1)/sampled)
	var samples []*Object
	i := 0
	for o := range s.Objects(Span{}) {
		if i%step == 0 {
			samples = append(samples, o)
		}
		i++
	}
	return samples
}

func (l *Lane) packState(s *State) {
	batch := make([]*Object, 0, packedAtOnce)
	for o := range s.Objects(Span{}) {
		if o.Item().Packed() {
			continue
		}
		if batch = append(batch, o); len(batch) == packedAtOnce {
			l.packObjects(batch, (*wire.Packer).Lay)
			batch = batch[:0]
		}
		if l.isClosed() {
			return
		}
	}
	l.packObjects(batch, (*wire.Packer).Lay)
}

// matured returns the position after the last event at or before a time.
func (l *Lane) matured(e *epoch, before time.Time) int64 {
	l.writing.Lock()
	defer l.writing.Unlock()
	w, end := e.history.held.Load(), e.history.end.Load()
	upTo := w.first
	for _, seg := range w.segments {
		if seg.newest.After(before) {
			for upTo < end && w.at(upTo).at <= before.UnixMilli() {
				upTo++
			}
			break
		}
		upTo = min(end, upTo+segmentSize)
	}
	return upTo
}

// packHistory packs the objects of events before position upTo, including deletion objects.
func (l *Lane) packHistory(e *epoch, upTo int64) {
	p := &l.packer
	batch := make([]*Object, 0, 2*packedAtOnce)
	for p.upTo < upTo && !l.isClosed() {
		from := p.upTo
		for ; p.upTo < upTo && len(batch) < packedAtOnce; p.upTo++ {
			if at := e.history.at(p.upTo); at != nil {
				batch = at.loose(batch)
			}
		}
		l.packObjects(batch, (*wire.Packer).Pack)
		batch = batch[:0]
		for seq := from; seq < p.upTo; seq++ {
			e.history.recharge(seq)
		}
		e.packed.Store(p.upTo)
	}
}

func (e *entry) loose(to []*Object) []*Object {
	now := e.now
	if e.audience == toFormerSelectors {
		now = nil // packed with the change's second event, toOtherSelectors
	}
	for _, o := range []*Object{now, e.deleted.Load()} {
		if o != nil && !o.Item().Packed() {
			to = append(to, o)
		}
	}
	return to
}

func (l *Lane) packObjects(objects []*Object, pack func(*wire.Packer, *wire.Item) wire.Item) {
	if len(objects) == 0 {
		return
	}
	l.keepPacker()
	packed := make([]wire.Item, len(objects))
	for i, o := range objects {
		packed[i] = pack(l.packer.by, o.Item())
		l.packer.count++
		l.packer.latest.note(&packed[i])
		if packed[i].Packed() { // an object that does not shrink is a useless sample
			l.packer.recent.note(o)
		}
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	for i, o := range objects {
		saved := l.exchange(o, packed[i])
		if s == nil || saved <= 0 {
			continue
		}
		if now, found := s.Get(o.Key()); found && now == o {
			l.counters.saved.Add(saved)
		}
	}
}

func (l *Lane) keepPacker() {
	if d := l.dictionary.Load(); !l.packer.by.Of(d.Dictionary) {
		l.packer.by = d.Packer()
	}
}
