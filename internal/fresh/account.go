package fresh

import (
	"sync"
	"time"

	"github.com/listfacade/listfacade/cache"
)

const (
	// sharedSize is the number of recent versions in an account that several lanes share: 16 seconds at 1,000 writes a
	// second. ownSize is the number of versions in the account of a single lane.
	sharedSize, ownSize = 1 << 14, 1 << 8
	// settleTime is the time that an event may take to reach its lane.
	settleTime = 100 * time.Millisecond
	// likelyEnough is the maximum expected number of versions that no lane has received since the checked lane was last
	// complete. Above it, a probe is unlikely to confirm the lane.
	likelyEnough = 0.5
)

// account records which resource each recent version of a store changed. Each resourceVersion (etcd revision) is one
// change of one object, because kube-apiserver writes each object by a separate transaction. The exception is an
// expired lease: etcd deletes several Event objects at one version, all of one resource. So if the lane of one resource
// received a version, that version is no change of another resource. A lane that misses only versions of other
// resources is complete up to the latest of them.
//
// A resource is identified by its plural name. For example, the lanes of events in v1 and in events.k8s.io/v1 have the
// same objects, so each of these lanes must receive a change itself.
type account struct {
	size cache.RV

	mu       sync.Mutex // guards the rest
	received []entry    // ring buffer: version rv is at index rv % size; nil before the first version
	highest  cache.RV   // highest version that a lane received or the store returned
	owners   map[string]uint32
	awaited  map[cache.RV]*notice

	marks       [2]mark // two earlier responses of the store, the older one first
	known       bool    // whether unaccounted has been measured
	unaccounted float64 // versions per second that no lane receives
}

type entry struct {
	rv    cache.RV
	owner uint32 // number of the resource; 0: no version is recorded
}

type mark struct {
	rv cache.RV
	at time.Time
}

type notice struct {
	received chan struct{}
	readers  int
}

func newAccount(size cache.RV) *account {
	return &account{size: size, owners: map[string]uint32{}, awaited: map[cache.RV]*notice{}}
}

func (a *account) note(resource string, rv cache.RV) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.received == nil {
		a.received = make([]entry, a.size)
	}
	at := &a.received[rv%a.size]
	if at.rv > rv {
		return // a later version already uses this entry
	}
	*at = entry{rv: rv, owner: a.owner(resource)}
	a.highest = max(a.highest, rv)
	if n := a.awaited[rv]; n != nil {
		close(n.received)
		delete(a.awaited, rv)
	}
}

// owner returns the number of a resource. The caller holds mu.
func (a *account) owner(resource string) uint32 {
	number, ok := a.owners[resource]
	if !ok {
		number = uint32(len(a.owners) + 1) //nolint:gosec // resources are counted in hundreds
		a.owners[resource] = number
	}
	return number
}

// missing returns the first version in (after, upTo] that may be a change of the resource, or 0 if there is none.
func (a *account) missing(resource string, after, upTo cache.RV) cache.RV {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.firstMissing(a.owner(resource), after, upTo)
}

// firstMissing is like missing, for the number of a resource. The caller holds mu.
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

// firstUnaccounted returns the first version in (after, highest] that no lane has received, or 0 if there is none.
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

// at returns the entry at the index of a version. The entry may contain another version. The caller holds mu.
func (a *account) at(rv cache.RV) entry {
	if a.received == nil {
		return entry{}
	}
	return a.received[rv%a.size]
}

// await returns a notice whose channel is closed when a lane receives the version. It returns nil if a lane has already
// received it. The caller calls leave when it stops waiting.
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

// answered records a version that the store returned, and measures how many earlier versions no lane received.
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

// count returns how many versions in (after, upTo] no lane has received. The caller holds mu.
func (a *account) count(after, upTo cache.RV) (n cache.RV) {
	if upTo > after+a.size {
		return upTo - after
	}
	for rv := after + 1; rv <= upTo; rv++ {
		if a.at(rv).rv != rv {
			n++
		}
	}
	return n
}

// likely reports whether a lane probably misses no version. completeTo is the version up to which the lane was last
// complete, and since is how long ago that was. It returns false before the rate of unaccounted versions is known.
func (a *account) likely(resource string, completeTo cache.RV, since time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.known || a.unaccounted*since.Seconds() > likelyEnough {
		return false
	}
	return a.firstMissing(a.owner(resource), completeTo, a.marks[1].rv) == 0
}

// reset forgets all versions, because a restored store may assign the same versions again.
func (a *account) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received, a.highest = nil, 0
	a.marks, a.known = [2]mark{}, false
}
