package fresh

import (
	"sync"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// sharedSize is how many of the latest versions are on the account that lanes share: at 1,000 writes a second, 16
	// seconds. ownSize is that of a lane which shares none.
	sharedSize, ownSize = 1 << 14, 1 << 8
	// settleTime is how long an event may take until its lane has it; what nobody has heard of by then, nobody will.
	settleTime = 100 * time.Millisecond
	// likelyEnough is how many versions that nobody hears of may be expected since a lane was proven.
	likelyEnough = 0.5
)

// account is what the lanes of a store have heard of its latest versions. Every version of an etcd is one change, of
// one object: kube-apiserver writes each by a transaction of its own. (A lease's end deletes several events at one
// version; they are of one resource.) So a version that the lane of another resource has heard of is none of this
// resource's, and a lane that misses only such versions has missed nothing: it is at the latest of them.
//
// A resource is known by its plural name, whatever the group and version: what is stored as events is read as
// events.v1. and events.v1.events.k8s.io, and each lane of them has to hear of a change itself.
type account struct {
	size cache.RV

	mu       sync.Mutex // guards the rest
	received []entry    // a version's is at its remainder by size; nil before the first
	highest  cache.RV   // of those that were heard of, or answered
	owners   map[string]uint32
	awaited  map[cache.RV]*notice

	marks       [2]mark // what the store answered, some time ago and then
	known       bool    // how much is unheard
	unaccounted float64 // versions a second that no lane hears of
}

// entry says which resource a version changed.
type entry struct {
	rv    cache.RV
	owner uint32 // 0: none
}

// mark is an answer of the store with the moment when it came.
type mark struct {
	rv cache.RV
	at time.Time
}

// notice is a version that readers wait for somebody to hear of.
type notice struct {
	received chan struct{}
	readers  int
}

func newAccount(size cache.RV) *account {
	return &account{size: size, owners: map[string]uint32{}, awaited: map[cache.RV]*notice{}}
}

// note says that the lane of a resource has the change at a version.
func (a *account) note(resource string, rv cache.RV) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.received == nil {
		a.received = make([]entry, a.size)
	}
	at := &a.received[rv%a.size]
	if at.rv > rv {
		return // of long ago
	}
	*at = entry{rv: rv, owner: a.owner(resource)}
	a.highest = max(a.highest, rv)
	if n := a.awaited[rv]; n != nil {
		close(n.received)
		delete(a.awaited, rv)
	}
}

// owner is the number of a resource, with mu held.
func (a *account) owner(resource string) uint32 {
	number, ok := a.owners[resource]
	if !ok {
		number = uint32(len(a.owners) + 1) //nolint:gosec // resources are counted in hundreds
		a.owners[resource] = number
	}
	return number
}

// gap is the first version after one, and up to another, that may be a change of a resource; 0 when there is none.
func (a *account) missing(resource string, after, upTo cache.RV) cache.RV {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.firstMissing(a.owner(resource), after, upTo)
}

func (a *account) firstMissing(owner uint32, after, upTo cache.RV) cache.RV {
	if upTo > after+a.size {
		return after + 1
	}
	for rv := after + 1; rv <= upTo; rv++ {
		if at := a.at(rv); at.rv != rv || at.owner == owner {
			return rv
		}
	}
	return 0
}

// firstUnaccounted is the first version after one that nobody has heard of, although a later one is known; 0 when there
// is none.
func (a *account) firstUnaccounted(after cache.RV) cache.RV {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.highest > after+a.size {
		return after + 1
	}
	for rv := after + 1; rv <= a.highest; rv++ {
		if a.at(rv).rv != rv {
			return rv
		}
	}
	return 0
}

// at is what is known of a version, or of another that took its place, with mu held.
func (a *account) at(rv cache.RV) entry {
	if a.received == nil {
		return entry{}
	}
	return a.received[rv%a.size]
}

// await joins those who wait until a lane has heard of a version; nil when one has already. The caller leaves.
func (a *account) await(rv cache.RV) *notice {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at(rv).rv == rv {
		return nil
	}
	n := a.awaited[rv]
	if n == nil {
		n = &notice{received: make(chan struct{})}
		a.awaited[rv] = n
	}
	n.readers++
	return n
}

func (a *account) leave(rv cache.RV, n *notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n.readers--
	if n.readers == 0 && a.awaited[rv] == n {
		delete(a.awaited, rv)
	}
}

// answered takes note of a version that the store was at, and of how many nobody heard of before it.
func (a *account) answered(rv cache.RV, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.highest = max(a.highest, rv)
	before, last := a.marks[0], a.marks[1]
	if now.Sub(last.at) < settleTime {
		return
	}
	if lasted := last.at.Sub(before.at).Seconds(); before.rv != 0 && lasted > 0 && last.rv >= before.rv {
		a.known = true
		a.unaccounted = float64(a.count(before.rv, last.rv)) / lasted
	}
	a.marks = [2]mark{last, {rv, now}}
}

// count is how many versions after one, and up to another, nobody has heard of, with mu held.
func (a *account) count(after, upTo cache.RV) (unheard cache.RV) {
	if upTo > after+a.size {
		return upTo - after
	}
	for rv := after + 1; rv <= upTo; rv++ {
		if a.at(rv).rv != rv {
			unheard++
		}
	}
	return unheard
}

// likely tells whether a lane, which was whole up to a version at some moment, is likely to miss nothing. What is not
// known yet is not likely.
func (a *account) likely(resource string, whole cache.RV, since time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.known || a.unaccounted*since.Seconds() > likelyEnough {
		return false
	}
	return a.firstMissing(a.owner(resource), whole, a.marks[1].rv) == 0
}

// reset forgets which versions were heard of: the store may have been set back, and give them out once more.
func (a *account) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received, a.highest = nil, 0
	a.marks, a.known = [2]mark{}, false
}
