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

// Precompressed caches precompressed runs for all lanes. A precompressed run is the compressed text of a part of a page
// (Run), in one representation and for one kind of body. The first caller makes it, once for all concurrent callers.
// The cache drops it with its page. When all runs together exceed the budget, the cache evicts the least recently used
// runs. Safe for concurrent use; lookups take no lock.
type Precompressed struct {
	budget int64
	bound  atomic.Int64 // current maximum in bytes: the budget, or less after Yield
	began  time.Time
	seed   maphash.Seed
	counts struct{ found, made, evicted atomic.Int64 }
	seen   [selectorsSeen]atomic.Uint64 // hashes of recent selectors

	mu    sync.Mutex // guards the fields below
	bytes int64      // size of all finished runs
	kept  map[*precompressedRun]struct{}
}

// NewPrecompressed returns a cache with a budget in bytes. A budget of 0 disables precompression.
func NewPrecompressed(budget int64) *Precompressed {
	f := &Precompressed{budget: budget, began: time.Now(), seed: maphash.MakeSeed(),
		kept: map[*precompressedRun]struct{}{}}
	f.bound.Store(budget)
	return f
}

// Yield evicts least recently used runs until the given number of bytes is freed, or no run is left. It returns the
// number of evicted bytes. The remaining size becomes the maximum until Recover raises it.
func (f *Precompressed) Yield(bytes int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.bytes
	to := max(before-bytes, 0)
	f.bound.Store(min(to, f.bound.Load()))
	f.shrink(to)
	return before - f.bytes
}

// recovery is the number of calls of Recover that restore the full budget.
const recovery = 16

// Recover raises the current maximum by one sixteenth of the budget.
func (f *Precompressed) Recover() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bound.Store(min(f.budget, f.bound.Load()+max(f.budget/recovery, 1)))
}

func (f *Precompressed) keeps() bool { return f.bound.Load() > 0 }

// PrecompressedStats are the statistics of a Precompressed. Bytes and Kept are current values. The other fields count
// since the start.
type PrecompressedStats struct {
	Bytes, Kept          int64
	Found, Made, Evicted int64
}

// Stats returns the current statistics.
func (f *Precompressed) Stats() PrecompressedStats {
	f.mu.Lock()
	bytes, kept := f.bytes, int64(len(f.kept))
	f.mu.Unlock()
	return PrecompressedStats{Bytes: bytes, Kept: kept, Found: f.counts.found.Load(), Made: f.counts.made.Load(),
		Evicted: f.counts.evicted.Load()}
}

type precompressedKey struct {
	representation Representation
	body           bodyKind
	from, to       int                   // first item of the run, and the item after its last
	selector       unique.Handle[string] // zero when all items are selected
}

func (k precompressedKey) nameLen() int {
	if k.selector == (unique.Handle[string]{}) {
		return 0
	}
	return len(k.selector.Value())
}

// bodyKind defines the text around and between the items.
type bodyKind int

const (
	inList bodyKind = iota
	inStream
)

// precompressedRun is the compressed text of one run of a page. It enters the cache when a caller starts to make it.
type precompressedRun struct {
	key  precompressedKey
	of   *pageRuns
	used atomic.Int64             // time of last use in nanoseconds after Precompressed.began
	text atomic.Pointer[Deflated] // nil until it is made
	made chan struct{}            // closed when the text is made or cannot be made
	// until is the time when the text changes; zero if never. Set before text.
	until time.Time
	size  int64 // size in the budget; 0 until it is made; guarded by Precompressed.mu
}

// selectorsSeen is the approximate number of recent selectors that are recorded. Clients that repeat their lists use a
// few hundred selectors.
const selectorsSeen = 1 << 12

// longestSelector is the maximum length in bytes of a selector whose results are cached.
const longestSelector = 4 << 10

// SelectorUse identifies a list request with a selector.
type SelectorUse struct {
	User     string
	Resource schema.GroupVersionResource
	Selector string
}

// repeated reports whether a user has listed a resource by the same selector before, and records the selector. The
// results of a selector that is used once are not worth caching. The user is part of the key, so response times reveal
// nothing about the requests of other users.
func (f *Precompressed) repeated(asked SelectorUse) bool {
	if len(asked.Selector) > longestSelector {
		return false
	}
	hash := maphash.Comparable(f.seed, asked)
	return f.seen[hash%selectorsSeen].Swap(hash) == hash
}

// precompressedOverhead is the approximate memory of a run without its text, in bytes. It counts toward the budget. It
// also limits the number of runs, because eviction sorts all of them.
const precompressedOverhead = 1 << 10

// precompressedPerPage is the maximum number of runs of one page, because requests can name any part of a page.
const precompressedPerPage = 24

// find returns the run of a key, or nil if there is none or its text is out of date.
func (f *Precompressed) find(s *pageRuns, key precompressedKey, now time.Time) *precompressedRun {
	for _, run := range s.runs() {
		if run.key == key {
			if run.expired(now) {
				return nil
			}
			return run
		}
	}
	return nil
}

// expired reports whether the text is out of date. A run that is being made is up to date.
func (p *precompressedRun) expired(now time.Time) bool {
	return p.text.Load() != nil && !p.until.IsZero() && !now.Before(p.until)
}

// use waits until a run is made and returns its text. It returns nil if the run could not be made or is out of date.
func (f *Precompressed) use(run *precompressedRun, now time.Time) *Deflated {
	f.counts.found.Add(1)
	if at := int64(now.Sub(f.began)); run.used.Load() < at {
		run.used.Store(at)
	}
	if text := run.text.Load(); text != nil {
		return text
	}
	<-run.made
	if run.expired(now) {
		return nil // the run was made for a list that started much earlier
	}
	return run.text.Load()
}

// uncompressedText is the text of a run before compression.
type uncompressedText struct {
	plain []byte
	items []uint16  // positions of the text's items on their page
	until time.Time // time when the text changes; zero if never
}

// precompress makes the run of a key. If another caller is already making it, precompress waits for that caller. The
// function text appends the uncompressed text.
func (f *Precompressed) precompress(s *pageRuns, key precompressedKey, now time.Time,
	text func(dst []byte) uncompressedText) *Deflated {
	run, created := f.begin(s, key, now)
	if !created {
		return f.use(run, now)
	}
	defer f.settle(run)
	plain := plains.Get().(*[]byte)
	t := text((*plain)[:0])
	*plain, run.until = t.plain, t.until
	made := Deflate(t.plain)
	made.items = t.items
	if cap(*plain) <= keepPlain {
		plains.Put(plain)
	}
	run.text.Store(made)
	f.counts.made.Add(1)
	f.charge(run, int64(made.Size()+key.nameLen()+precompressedOverhead))
	return made
}

// settle wakes the callers that wait for a run. If making the run caused a panic, settle removes the run.
func (f *Precompressed) settle(run *precompressedRun) {
	if run.text.Load() == nil {
		f.mu.Lock()
		run.of.remove(run)
		f.forget(run)
		f.mu.Unlock()
	}
	close(run.made)
}

// keepPlain is the maximum capacity in bytes of a buffer that returns to the pool: a page of 128 pods.
const keepPlain = 4 << 20

var plains = sync.Pool{New: func() any { return new([]byte) }}

// begin returns the run of a key, and adds it if there is none. If created is true, the caller must make the run.
func (f *Precompressed) begin(s *pageRuns, key precompressedKey, now time.Time) (run *precompressedRun, created bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run = f.find(s, key, now); run != nil {
		return run, false
	}
	run = &precompressedRun{key: key, of: s, made: make(chan struct{})}
	run.used.Store(int64(now.Sub(f.began)))
	others := make([]*precompressedRun, 0, len(s.runs())+1)
	for _, other := range s.runs() {
		if other.key == key {
			f.forget(other) // out of date
		} else {
			others = append(others, other)
		}
	}
	if len(others) == precompressedPerPage {
		oldest := slices.MinFunc(others, lastUse)
		others = slices.DeleteFunc(others, func(other *precompressedRun) bool { return other == oldest })
		f.evict(oldest)
	}
	s.set(append(others, run))
	f.kept[run] = struct{}{}
	return run, true
}

func lastUse(a, b *precompressedRun) int { return cmp.Compare(a.used.Load(), b.used.Load()) }

// charge adds the size of a finished run to the total size, unless the run was dropped meanwhile, and enforces the
// budget.
func (f *Precompressed) charge(run *precompressedRun, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, kept := f.kept[run]; !kept {
		return
	}
	run.size = size
	f.bytes += size
	if bound := f.bound.Load(); f.bytes > bound {
		f.shrink(bound - bound/8)
	}
}

// shrink evicts least recently used runs until at most to bytes are left. It sorts all runs. Therefore charge passes a
// size well below the budget, and calls shrink rarely. The caller holds f.mu.
func (f *Precompressed) shrink(to int64) {
	all := make([]*precompressedRun, 0, len(f.kept))
	for run := range f.kept {
		if run.size > 0 {
			all = append(all, run)
		}
	}
	slices.SortFunc(all, lastUse)
	for _, run := range all {
		if f.bytes <= to {
			return
		}
		run.of.remove(run)
		f.evict(run)
	}
}

func (f *Precompressed) evict(run *precompressedRun) {
	f.counts.evicted.Add(1)
	f.forget(run)
}

// forget removes a run from kept and from the total size, but not from its page. The caller holds f.mu.
func (f *Precompressed) forget(run *precompressedRun) {
	f.bytes -= run.size
	run.size = 0
	delete(f.kept, run)
}

// tryDrop is like drop, but does not wait for the lock, so that a lane's writer is not delayed. If the lock is taken,
// the runs remain until they are evicted or the page is garbage collected.
func (f *Precompressed) tryDrop(s *pageRuns) {
	if f.mu.TryLock() {
		defer f.mu.Unlock()
		f.dropAll(s)
	}
}

func (f *Precompressed) drop(s *pageRuns) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropAll(s)
}

func (f *Precompressed) dropAll(s *pageRuns) {
	for _, run := range s.runs() {
		f.forget(run)
	}
	s.set(nil)
}
