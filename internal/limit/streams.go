package limit

import (
	"container/list"
	"sync"
	"time"
)

// StreamBounds are the maximum numbers of open streams; 0 is unlimited.
type StreamBounds struct {
	One, All int // per key, and over all keys
}

// Streams bounds the requests that stay open for minutes, such as watches. It never queues. Safe for concurrent use.
//
// When All is reached, a new stream may displace a stream of the group with the most streams. In this group, it
// displaces the oldest stream of the key with the most. The displaced stream's group must keep at least as many streams
// as the new stream's group then has. Otherwise, the same rule applies to the keys in the new stream's group.
//
// A stream that displaced another and then left is a debt of its key and group. In this rule, debts count as streams,
// and one debt expires every second. A client that reconnects all the time therefore ends few streams of other clients.
type Streams struct {
	bounds StreamBounds

	mu         sync.Mutex // guards the fields below; held for list and map operations only
	groups     map[string]*streamGroup
	counts     census[string] // open streams by group
	groupDebts debts[string]
	keyDebts   debts[Key]
}

type streamGroup struct {
	byKey  map[string]*list.List // lists of *stream, oldest first
	counts census[string]        // open streams by key
}

type stream struct {
	key        Key
	end        func()
	element    *list.Element // nil after removal
	displacing bool          // whether the stream displaced another one
}

// NewStreams returns Streams without an open stream.
func NewStreams(bounds StreamBounds) *Streams {
	return &Streams{bounds: bounds, groups: map[string]*streamGroup{}}
}

// Enter adds a stream, or returns ErrBusy immediately. end is called at most once, when another stream displaces this
// one. A displaced stream no longer counts. The caller calls leave when the stream ends; further calls have no effect.
func (s *Streams) Enter(key Key, end func()) (leave func(), err error) {
	one := &stream{key: key, end: end}
	displaced, err := s.enter(one)
	if err != nil {
		return nil, err
	}
	if displaced != nil {
		displaced.end()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(one)
	}, nil
}

func (s *Streams) enter(one *stream) (displaced *stream, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[one.key.Group]; g != nil && reached(g.counts.counts[one.key.One], s.bounds.One) {
		return nil, ErrBusy
	}
	if reached(s.counts.all, s.bounds.All) {
		if displaced = s.displaceable(one.key); displaced == nil {
			return nil, ErrBusy
		}
		one.displacing = true
		s.remove(displaced)
	}
	s.add(one)
	return displaced, nil
}

func (s *Streams) displaceable(to Key) *stream {
	now := time.Now()
	from := s.counts.most(to.Group)
	if s.counts.counts[from] > s.counts.counts[to.Group]+s.groupDebts.owed(to.Group, now)+1 {
		g := s.groups[from]
		return g.oldest(g.counts.most(to.One))
	}
	g := s.groups[to.Group]
	if g == nil {
		return nil
	}
	if one := g.counts.most(to.One); g.counts.counts[one] > g.counts.counts[to.One]+s.keyDebts.owed(to, now)+1 {
		return g.oldest(one)
	}
	return nil
}

func (g *streamGroup) oldest(one string) *stream { return g.byKey[one].Front().Value.(*stream) }

func (s *Streams) add(one *stream) {
	g := s.groups[one.key.Group]
	if g == nil {
		g = &streamGroup{byKey: map[string]*list.List{}}
		s.groups[one.key.Group] = g
	}
	open := g.byKey[one.key.One]
	if open == nil {
		open = list.New()
		g.byKey[one.key.One] = open
	}
	one.element = open.PushBack(one)
	s.count(one.key, g, open.Len())
}

// leave removes a stream, and adds a debt if the stream had displaced another and was not displaced itself.
func (s *Streams) leave(one *stream) {
	if one.element != nil && one.displacing {
		now := time.Now()
		s.groupDebts.add(one.key.Group, now)
		s.keyDebts.add(one.key, now)
	}
	s.remove(one)
}

func (s *Streams) remove(one *stream) {
	if one.element == nil {
		return
	}
	g := s.groups[one.key.Group]
	open := g.byKey[one.key.One]
	open.Remove(one.element)
	one.element = nil
	s.count(one.key, g, open.Len())
	if open.Len() == 0 {
		delete(g.byKey, one.key.One)
	}
	if g.counts.all == 0 {
		delete(s.groups, one.key.Group)
	}
}

func (s *Streams) count(key Key, g *streamGroup, n int) {
	g.counts.note(key.One, n)
	s.counts.note(key.Group, g.counts.all)
}

// Load returns the number of open streams. Waiting is always 0.
func (s *Streams) Load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{Taken: int64(s.counts.all), All: int64(s.bounds.All)}
}
