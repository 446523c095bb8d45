package cache

import (
	"time"

	"github.com/listfacade/listfacade/internal/wire"
)

// Packing says which objects a lane keeps compressed. The zero Packing keeps all as they came.
type Packing struct {
	// From is how many bytes of objects a lane must have for them to be packed; 0 packs nothing.
	From int64
	// After is how long an object stays as it came: what changes again at once, and what is read because it has just
	// changed, is not worth it.
	After time.Duration
}

// DefaultPacking packs what is worth it: a dictionary and what packs with it take half a megabyte of their own, more
// while they are in use.
var DefaultPacking = Packing{From: 4 << 20, After: 5 * time.Second}

const (
	// sampled is how many objects a dictionary is made of.
	sampled = 300
	// packedAtOnce is how many objects are exchanged while writers wait, which takes each of them a search.
	packedAtOnce = 16
)

// packer keeps a lane's objects compressed: those of a list as they come (Filling), those that change when they have
// lived for a while, wherever they are by then, in the State or in history only (Lane.Pack). Guarded by Lane.packing.
type packer struct {
	latest shrinkage // against the lane's dictionary
	recent recent
	epoch  *epoch // whose history was packed up to a position
	upTo   int64
	by     *wire.Packer // while there is something to pack
	count  int64        // of objects that were looked at
}

// learned is a dictionary of a lane's objects. Immutable.
type learned struct {
	*wire.Dictionary
	ratio float64   // of the samples' packed bytes to their plain ones
	at    time.Time // when it was made
}

// Filling takes the objects of an upstream list before they are the lane's content. Used by one goroutine.
type Filling struct {
	lane  *Lane
	loose []*Object // that wait for a dictionary
	bytes int64     // of them
	tries int       // to make one, in vain
	by    *wire.Packer
	taken int64    // of memory
	made  *learned // the dictionary that was made of the list
}

// Fill returns what the objects of one list are to be shown to as they come, so that they never stand in memory as they
// came all together.
func (l *Lane) Fill() *Filling {
	l.counters.filling.Store(0)
	return &Filling{lane: l}
}

// Drop lets go of a list that is not to be the lane's content, of which nothing stays then. It is for before the lane's
// first State.
func (f *Filling) Drop() {
	f.lane.counters.filling.Store(0)
	if f.made != nil {
		f.lane.dictionary.CompareAndSwap(f.made, nil)
	}
}

// Memory returns how many bytes of memory the objects take, with the history and the indexes of a Restoration.
func (f *Filling) Memory() int64 { return f.taken }

// count counts so many bytes more.
func (f *Filling) count(bytes int64) {
	f.taken += bytes
	f.lane.counters.filling.Store(f.taken)
}

// Add packs an object that nobody else reads yet, if the lane packs and the list is large enough, and counts what it
// takes.
func (f *Filling) Add(o *Object) {
	f.taken += int64(o.memory())
	f.pack(o)
	f.lane.counters.filling.Store(f.taken)
}

func (f *Filling) pack(o *Object) {
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
	// Objects that have nothing in common do not get it by being more: each try is about twice as many later.
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

// lay packs an object in place: nobody reads it yet, and another Item would leave a hole where the first one was.
func (f *Filling) lay(o *Object) {
	item := o.Item()
	packed := f.by.Lay(item)
	verifyPacked(item, &packed, f.lane.verifying)
	f.taken -= int64(item.Memory() - packed.Memory())
	*item = packed
}

// learn makes the lane's dictionary of some of these objects; nil when they have nothing in common.
func (l *Lane) learn(objects []*Object) *learned {
	step := max(1, (len(objects)+sampled-1)/sampled)
	samples := make([]*wire.Item, 0, sampled+1)
	for i := 0; i < len(objects); i += step {
		samples = append(samples, objects[i].Item())
	}
	d, err := wire.NewDictionary(samples)
	if err != nil {
		return nil // it is tried again with other objects
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

// exchange lets an object have the same item in less memory.
func (l *Lane) exchange(o *Object, packed wire.Item) (saved int64) {
	was := o.Item()
	saved = int64(was.Memory() - packed.Memory())
	if saved > 0 {
		o.item.Store(&packed)
		verifyPacked(was, &packed, l.verifying)
	}
	return saved
}

// Pack packs what has lived for long enough by now. It takes its time, and writers and readers go on meanwhile. It is
// to be called again and again; one that finds another at work does nothing.
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
		p.epoch, p.upTo = s.epoch, first // what happened before is in the State, or nowhere
		l.packState(s)
	}
	l.packHistory(s.epoch, l.matured(s.epoch, now.Add(-l.options.Packing.After)))
	l.gather()
}

// sample returns some of the objects, from all over the State.
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

// packState packs every object of a State.
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

// matured returns the position behind the last event that came before a time.
func (l *Lane) matured(e *epoch, before time.Time) int64 {
	l.writing.Lock()
	defer l.writing.Unlock()
	w, end := e.history.held.Load(), e.history.end.Load()
	upTo := w.first
	for _, seg := range w.segments {
		if seg.newest.After(before) {
			break
		}
		upTo = min(end, upTo+segmentSize)
	}
	return upTo
}

// packHistory packs the objects of events up to a position: what an object became, which may be what it still is, and
// what it was when it went.
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
	}
}

// loose appends what an event led to that is not packed.
func (e *entry) loose(to []*Object) []*Object {
	now := e.now
	if e.tells == toThoseItLeaves {
		now = nil // the change itself has it, too
	}
	for _, o := range []*Object{now, e.deleted.Load()} {
		if o != nil && !o.Item().Packed() {
			to = append(to, o)
		}
	}
	return to
}

// packObjects packs some objects, and counts what that saves of the State.
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
		if packed[i].Packed() { // what does not shrink would only be kept from being forgotten
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

// keepPacker makes sure that there is one for the lane's dictionary.
func (l *Lane) keepPacker() {
	if d := l.dictionary.Load(); !l.packer.by.Of(d.Dictionary) {
		l.packer.by = d.Packer()
	}
}
