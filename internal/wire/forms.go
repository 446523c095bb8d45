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

// Forms keeps forms of pages, for all lanes together: what a page's items look like in one kind of body, compressed
// ahead. A form is made on first need, once for all who need it at the same time. It goes with its page, or when others
// were used later and all together exceed the budget. Safe for concurrent use; who finds a form takes no lock.
type Forms struct {
	budget int64
	bound  atomic.Int64 // what is kept at most at the moment: the budget, or less where memory is short
	began  time.Time
	seed   maphash.Seed
	counts struct{ found, made, evicted atomic.Int64 }
	heard  [selectorsHeard]atomic.Uint64 // of selectors, by their hashes

	mu    sync.Mutex // guards all below; taken by who makes or drops a form
	bytes int64      // of those that are made
	kept  map[*pageForm]struct{}
}

// NewForms keeps forms of at most so many bytes; with a budget of 0 it keeps none, and nothing is compressed ahead.
func NewForms(budget int64) *Forms {
	f := &Forms{budget: budget, began: time.Now(), seed: maphash.MakeSeed(), kept: map[*pageForm]struct{}{}}
	f.bound.Store(budget)
	return f
}

// Yield drops forms of so many bytes, if there are as many, those first that were not used for longest, and returns how
// many it did. From then on there are to be no more than are left, until Recover.
func (f *Forms) Yield(bytes int64) int64 {
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
func (f *Forms) Recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bound.Store(min(f.budget, f.bound.Load()+max(f.budget/recovery, 1)))
}

// keeps tells whether forms are kept at the moment.
func (f *Forms) keeps() bool { return f.bound.Load() > 0 }

// FormsStats are Forms in numbers: what is kept at the moment, and what was found, made and evicted since the start.
type FormsStats struct {
	Bytes, Kept          int64
	Found, Made, Evicted int64
}

// Stats are the numbers of the moment.
func (f *Forms) Stats() FormsStats {
	f.mu.Lock()
	bytes, kept := f.bytes, int64(len(f.kept))
	f.mu.Unlock()
	return FormsStats{Bytes: bytes, Kept: kept, Found: f.counts.found.Load(), Made: f.counts.made.Load(), Evicted: f.counts.evicted.Load()}
}

// formKey is what there is one form of a page of.
type formKey struct {
	form     Form
	body     bodyKind
	from, to int                   // the part of the page
	selector unique.Handle[string] // what is selected of it; zero when everything is
}

// nameLen is how many bytes the key keeps alive.
func (k formKey) nameLen() int {
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

// pageForm is one form of one page. It is kept from the moment when somebody begins to make it.
type pageForm struct {
	key  formKey
	of   *shelf
	used atomic.Int64             // when it was last used, in nanoseconds after the Forms began
	text atomic.Pointer[Deflated] // nil until it is made
	made chan struct{}            // closed then, and when it could not be made
	// until is when the text becomes another; zero when it never does. It is there before the text is.
	until time.Time
	size  int64 // what it counts for; 0 until it is made. Guarded by Forms.mu
}

// selectorsHeard is how many selectors are remembered, about. Clients that list again use a few hundred.
const selectorsHeard = 1 << 12

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
func (f *Forms) hears(asked Asked) bool {
	if len(asked.Selector) > longestSelector {
		return false
	}
	hash := maphash.Comparable(f.seed, asked)
	return f.heard[hash%selectorsHeard].Swap(hash) == hash
}

// formOverhead is what a form counts for beside its bytes: what it takes, with the name of a selector of the usual
// length. It also bounds how many there are, which are looked at together when some have to go.
const formOverhead = 1 << 10

// formsOfPage bounds how many forms a page has at a time. Parts of pages come in any number.
const formsOfPage = 24

// find is the form of a key that may be used now; nil when there is none.
func (f *Forms) find(s *shelf, key formKey, now time.Time) *pageForm {
	for _, form := range s.forms() {
		if form.key == key {
			if form.isOver(now) {
				return nil
			}
			return form
		}
	}
	return nil
}

// isOver tells whether the text has become another. One that is being made is of now.
func (p *pageForm) isOver(now time.Time) bool {
	return p.text.Load() != nil && !p.until.IsZero() && !now.Before(p.until)
}

// use waits until a form is made and returns its text; nil when it could not be made.
func (f *Forms) use(form *pageForm, now time.Time) *Deflated {
	f.counts.found.Add(1)
	if at := int64(now.Sub(f.began)); form.used.Load() < at {
		form.used.Store(at)
	}
	if text := form.text.Load(); text != nil {
		return text
	}
	<-form.made
	if form.isOver(now) {
		return nil // it was made by a list that began long before
	}
	return form.text.Load()
}

// formText is what becomes a form.
type formText struct {
	plain []byte
	items []uint16  // their places on the page
	until time.Time // when it reads differently; zero: never
}

// makeForm makes the form of a key, unless somebody else has begun to, who is waited for. text appends it as it is.
func (f *Forms) makeForm(s *shelf, key formKey, now time.Time, text func(dst []byte) formText) *Deflated {
	form, mine := f.begin(s, key, now)
	if !mine {
		return f.use(form, now)
	}
	defer f.settle(form)
	plain := plains.Get().(*[]byte)
	t := text((*plain)[:0])
	*plain, form.until = t.plain, t.until
	made := Deflate(t.plain)
	made.items = t.items
	if cap(*plain) <= keepPlain {
		plains.Put(plain)
	}
	form.text.Store(made)
	f.counts.made.Add(1)
	f.charge(form, int64(made.Size()+key.nameLen()+formOverhead))
	return made
}

// settle ends the wait for a form. One that was not made, because what is to be compressed panics, is nobody's.
func (f *Forms) settle(form *pageForm) {
	if form.text.Load() == nil {
		f.mu.Lock()
		form.of.remove(form)
		f.forget(form)
		f.mu.Unlock()
	}
	close(form.made)
}

// keepPlain is how large in bytes a buffer may be that is used again: a page of 128 pods.
const keepPlain = 4 << 20

// plains are the buffers for what is about to be compressed.
var plains = sync.Pool{New: func() any { return new([]byte) }}

// begin keeps a form that is to be made; mine tells that it is the caller's to make.
func (f *Forms) begin(s *shelf, key formKey, now time.Time) (form *pageForm, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if form = f.find(s, key, now); form != nil {
		return form, false
	}
	form = &pageForm{key: key, of: s, made: make(chan struct{})}
	form.used.Store(int64(now.Sub(f.began)))
	left := make([]*pageForm, 0, len(s.forms())+1)
	for _, other := range s.forms() {
		if other.key == key {
			f.forget(other) // its time is over
		} else {
			left = append(left, other)
		}
	}
	if len(left) == formsOfPage {
		oldest := slices.MinFunc(left, lastUse)
		left = slices.DeleteFunc(left, func(other *pageForm) bool { return other == oldest })
		f.evict(oldest)
	}
	s.set(append(left, form))
	f.kept[form] = struct{}{}
	return form, true
}

// lastUse puts those first that were not used for longest.
func lastUse(a, b *pageForm) int { return cmp.Compare(a.used.Load(), b.used.Load()) }

// charge counts a form that is made, unless it was dropped meanwhile, and keeps to the budget.
func (f *Forms) charge(form *pageForm, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, kept := f.kept[form]; !kept {
		return
	}
	form.size = size
	f.bytes += size
	if bound := f.bound.Load(); f.bytes > bound {
		f.shrink(bound - bound/8)
	}
}

// shrink evicts what was not used for longest. It goes well below the budget, so that it need not look at all forms for
// each that is made. The caller holds f.mu.
func (f *Forms) shrink(to int64) {
	all := make([]*pageForm, 0, len(f.kept))
	for form := range f.kept {
		if form.size > 0 {
			all = append(all, form)
		}
	}
	slices.SortFunc(all, lastUse)
	for _, form := range all {
		if f.bytes <= to {
			return
		}
		form.of.remove(form)
		f.evict(form)
	}
}

func (f *Forms) evict(form *pageForm) {
	f.counts.evicted.Add(1)
	f.forget(form)
}

// forget no longer counts a form that its page has no more. The caller holds f.mu.
func (f *Forms) forget(form *pageForm) {
	f.bytes -= form.size
	form.size = 0
	delete(f.kept, form)
}

// tryDrop is drop for a writer of a lane, who waits for nobody: what is not dropped goes like a page's that nobody
// holds.
func (f *Forms) tryDrop(s *shelf) {
	if f.mu.TryLock() {
		defer f.mu.Unlock()
		f.dropAll(s)
	}
}

// drop drops all forms of a page.
func (f *Forms) drop(s *shelf) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropAll(s)
}

func (f *Forms) dropAll(s *shelf) {
	for _, form := range s.forms() {
		f.forget(form)
	}
	s.set(nil)
}
