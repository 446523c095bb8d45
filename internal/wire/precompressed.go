package wire

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Precompressed keeps forms of pages, for all lanes together: what a page's items look like in one kind of body,
// compressed ahead. A form is made on first need, once for all who need it at the same time. It goes with its page, or
// when others were used later and all together exceed the budget. Safe for concurrent use; who finds a form takes no
// lock.
type Precompressed struct {
	budget int64
	bound  atomic.Int64 // what is kept at most at the moment: the budget, or less where memory is short
	began  time.Time
	seed   maphash.Seed
	counts struct{ found, made, evicted atomic.Int64 }
	seen   [selectorsSeen]atomic.Uint64 // of selectors, by their hashes

	mu    sync.Mutex // guards all below; taken by who makes or drops a form
	bytes int64      // of those that are made
	kept  map[*precompressedRun]struct{}
}

// NewPrecompressed keeps forms of at most so many bytes; with a budget of 0 it keeps none, and nothing is compressed
// ahead.
func NewPrecompressed(budget int64) *Precompressed {
	f := &Precompressed{budget: budget, began: time.Now(), seed: maphash.MakeSeed(), kept: map[*precompressedRun]struct{}{}}
	f.bound.Store(budget)
	return f
}

// Yield drops forms of so many bytes, if there are as many, those first that were not used for longest, and returns how
// many it did. From then on there are to be no more than are left, until Recover.
func (f *Precompressed) Yield(bytes int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.bytes
	to := max(before-bytes, 0)
	f.bound.Store(min(to, f.bound.Load()))
	f.shrink(to)
	return before - f.bytes
}

// recovery is how many times Recover is called until forms may take their whole budget again.
const recovery = 16

// Recover lets forms take a part more of the budget that they were made with.
func (f *Precompressed) Recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bound.Store(min(f.budget, f.bound.Load()+max(f.budget/recovery, 1)))
}

// keeps tells whether forms are kept at the moment.
func (f *Precompressed) keeps() bool { return f.bound.Load() > 0 }

// PrecompressedStats are Precompressed in numbers: what is kept at the moment, and what was found, made and evicted
// since the start.
type PrecompressedStats struct {
	Bytes, Kept          int64
	Found, Made, Evicted int64
}

// Stats are the numbers of the moment.
func (f *Precompressed) Stats() PrecompressedStats {
	f.mu.Lock()
	bytes, kept := f.bytes, int64(len(f.kept))
	f.mu.Unlock()
	return PrecompressedStats{Bytes: bytes, Kept: kept, Found: f.counts.found.Load(), Made: f.counts.made.Load(), Evicted: f.counts.evicted.Load()}
}

// precompressedKey is what there is one form of a page of.
type precompressedKey struct {
	representation Representation
	body           bodyKind
	from, to       int                   // the part of the page
	selector       unique.Handle[string] // what is selected of it; zero when everything is
}

// nameLen is how many bytes the key keeps alive.
func (k precompressedKey) nameLen() int {
	if k.selector == (unique.Handle[string]{}) {
		return 0
	}
	return len(k.selector.Value())
}

// bodyKind is what stands around and between the items.
type bodyKind int

const (
	inList bodyKind = iota
	inStream
)

// precompressedRun is one form of one page. It is kept from the moment when somebody begins to make it.
type precompressedRun struct {
	key  precompressedKey
	of   *shelf
	used atomic.Int64             // when it was last used, in nanoseconds after the Precompressed began
	text atomic.Pointer[Deflated] // nil until it is made
	made chan struct{}            // closed then, and when it could not be made
	// until is when the text becomes another; zero when it never does. It is there before the text is.
	until time.Time
	size  int64 // what it counts for; 0 until it is made. Guarded by Precompressed.mu
}

// selectorsSeen is how many selectors are remembered, about. Clients that list again use a few hundred.
const selectorsSeen = 1 << 12

// longestSelector is how long a selector's name may be for what it selects to be remembered.
const longestSelector = 4 << 10

// Asked is a selector that a user lists a resource by.
type Asked struct {
	User     string
	Resource schema.GroupVersionResource
	Selector string
}

// hears reports whether a user has listed a resource by a selector before: what is asked for once is not worth keeping.
// Of what other users ask, an answer shows nothing.
func (f *Precompressed) sees(asked Asked) bool {
	if len(asked.Selector) > longestSelector {
		return false
	}
	hash := maphash.Comparable(f.seed, asked)
	return f.seen[hash%selectorsSeen].Swap(hash) == hash
}

// precompressedOverhead is what a form counts for beside its bytes: what it takes, with the name of a selector of the
// usual length. It also bounds how many there are, which are looked at together when some have to go.
const precompressedOverhead = 1 << 10

// precompressedPerPage bounds how many forms a page has at a time. Parts of pages come in any number.
const precompressedPerPage = 24

// find is the form of a key that may be used now; nil when there is none.
func (f *Precompressed) find(s *shelf, key precompressedKey, now time.Time) *precompressedRun {
	for _, representation := range s.runs() {
		if representation.key == key {
			if representation.isOver(now) {
				return nil
			}
			return representation
		}
	}
	return nil
}

// isOver tells whether the text has become another. One that is being made is of now.
func (p *precompressedRun) isOver(now time.Time) bool {
	return p.text.Load() != nil && !p.until.IsZero() && !now.Before(p.until)
}

// use waits until a form is made and returns its text; nil when it could not be made.
func (f *Precompressed) use(representation *precompressedRun, now time.Time) *Deflated {
	f.counts.found.Add(1)
	if at := int64(now.Sub(f.began)); representation.used.Load() < at {
		representation.used.Store(at)
	}
	if text := representation.text.Load(); text != nil {
		return text
	}
	<-representation.made
	if representation.isOver(now) {
		return nil // it was made by a list that began long before
	}
	return representation.text.Load()
}

// uncompressedText is what becomes a form.
type uncompressedText struct {
	plain []byte
	items []uint16  // their places on the page
	until time.Time // when it reads differently; zero: never
}

// precompress makes the form of a key, unless somebody else has begun to, who is waited for. text appends it as it is.
func (f *Precompressed) precompress(s *shelf, key precompressedKey, now time.Time, text func(dst []byte) uncompressedText) *Deflated {
	representation, mine := f.begin(s, key, now)
	if !mine {
		return f.use(representation, now)
	}
	defer f.settle(representation)
	plain := plains.Get().(*[]byte)
	t := text((*plain)[:0])
	*plain, representation.until = t.plain, t.until
	made := Deflate(t.plain)
	made.items = t.items
	if cap(*plain) <= keepPlain {
		plains.Put(plain)
	}
	representation.text.Store(made)
	f.counts.made.Add(1)
	f.charge(representation, int64(made.Size()+key.nameLen()+precompressedOverhead))
	return made
}

// settle ends the wait for a form. One that was not made, because what is to be compressed panics, is nobody's.
func (f *Precompressed) settle(representation *precompressedRun) {
	if representation.text.Load() == nil {
		f.mu.Lock()
		representation.of.remove(representation)
		f.forget(representation)
		f.mu.Unlock()
	}
	close(representation.made)
}

// keepPlain is how large in bytes a buffer may be that is used again: a page of 128 pods.
const keepPlain = 4 << 20

// plains are the buffers for what is about to be compressed.
var plains = sync.Pool{New: func() any { return new([]byte) }}

// begin keeps a form that is to be made; mine tells that it is the caller's to make.
func (f *Precompressed) begin(s *shelf, key precompressedKey, now time.Time) (representation *precompressedRun, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if representation = f.find(s, key, now); representation != nil {
		return representation, false
	}
	representation = &precompressedRun{key: key, of: s, made: make(chan struct{})}
	representation.used.Store(int64(now.Sub(f.began)))
	left := make([]*precompressedRun, 0, len(s.runs())+1)
	for _, other := range s.runs() {
		if other.key == key {
			f.forget(other) // its time is over
		} else {
			left = append(left, other)
		}
	}
	if len(left) == precompressedPerPage {
		oldest := slices.MinFunc(left, lastUse)
		left = slices.DeleteFunc(left, func(other *precompressedRun) bool { return other == oldest })
		f.evict(oldest)
	}
	s.set(append(left, representation))
	f.kept[representation] = struct{}{}
	return representation, true
}

// lastUse puts those first that were not used for longest.
func lastUse(a, b *precompressedRun) int { return cmp.Compare(a.used.Load(), b.used.Load()) }

// charge counts a form that is made, unless it was dropped meanwhile, and keeps to the budget.
func (f *Precompressed) charge(representation *precompressedRun, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, kept := f.kept[representation]; !kept {
		return
	}
	representation.size = size
	f.bytes += size
	if bound := f.bound.Load(); f.bytes > bound {
		f.shrink(bound - bound/8)
	}
}

// shrink evicts what was not used for longest. It goes well below the budget, so that it need not look at all forms for
// each that is made. The caller holds f.mu.
func (f *Precompressed) shrink(to int64) {
	all := make([]*precompressedRun, 0, len(f.kept))
	for representation := range f.kept {
		if representation.size > 0 {
			all = append(all, representation)
		}
	}
	slices.SortFunc(all, lastUse)
	for _, representation := range all {
		if f.bytes <= to {
			return
		}
		representation.of.remove(representation)
		f.evict(representation)
	}
}

func (f *Precompressed) evict(representation *precompressedRun) {
	f.counts.evicted.Add(1)
	f.forget(representation)
}

// forget no longer counts a form that its page has no more. The caller holds f.mu.
func (f *Precompressed) forget(representation *precompressedRun) {
	f.bytes -= representation.size
	representation.size = 0
	delete(f.kept, representation)
}

// tryDrop is drop for a writer of a lane, who waits for nobody: what is not dropped goes like a page's that nobody
// holds.
func (f *Precompressed) tryDrop(s *shelf) {
	if f.mu.TryLock() {
		defer f.mu.Unlock()
		f.dropAll(s)
	}
}

// drop drops all forms of a page.
func (f *Precompressed) drop(s *shelf) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropAll(s)
}

func (f *Precompressed) dropAll(s *shelf) {
	for _, representation := range s.runs() {
		f.forget(representation)
	}
	s.set(nil)
}
