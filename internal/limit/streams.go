package limit

import (
	"container/list"
	"sync"
	"time"
)

// StreamBounds are how many streams may be open at a time; 0 is any number.
type StreamBounds struct {
	One, All int // of one key, and of everybody
}

// Streams gives places to requests that stay open for minutes, by key. Nobody waits for a place. When all are taken, a
// newcomer displaces a stream of the group with the most, as long as that group keeps at least as many as the
// newcomer's has then; in the newcomer's own group the same goes for keys. So no group is without a place while another
// has two. A place that was won so and then left counts for the newcomer until it is forgotten, one each second:
// whoever opens streams and leaves ends no more streams of others than by staying, and from then on one a second. Safe
// for concurrent use.
type Streams struct {
	bounds StreamBounds

	mu     sync.Mutex // guards what follows; held for operations on lists and maps only
	groups map[string]*streamGroup
	counts census[string] // by group
	// Of places that were won from others and left.
	groupDebts debts[string]
	keyDebts   debts[Key]
}

// streamGroup is the streams of one group.
type streamGroup struct {
	lines  map[string]*list.List // of *stream, by key, the oldest first
	counts census[string]        // by key
}

type stream struct {
	key Key
	end func()
	at  *list.Element // nil when it has left
	won bool          // it displaced another
}

// NewStreams returns places of which none is taken.
func NewStreams(bounds StreamBounds) *Streams {
	return &Streams{bounds: bounds, groups: map[string]*streamGroup{}}
}

// Enter takes a place for a stream, or fails with ErrBusy at once. end is called, once at most, when the stream has to
// end for another: its place is taken by then. leave is for when the stream is over, and may be called again.
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
		if displaced = s.giving(one.key); displaced == nil {
			return nil, ErrBusy
		}
		one.won = true
		s.remove(displaced)
	}
	s.add(one)
	return displaced, nil
}

// giving is the oldest stream of those who have the most and give a place to a newcomer; nil when nobody does.
func (s *Streams) giving(to Key) *stream {
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

func (g *streamGroup) oldest(one string) *stream { return g.lines[one].Front().Value.(*stream) }

func (s *Streams) add(one *stream) {
	g := s.groups[one.key.Group]
	if g == nil {
		g = &streamGroup{lines: map[string]*list.List{}}
		s.groups[one.key.Group] = g
	}
	line := g.lines[one.key.One]
	if line == nil {
		line = list.New()
		g.lines[one.key.One] = line
	}
	one.at = line.PushBack(one)
	s.count(one.key, g, line.Len())
}

// leave ends a stream that was not displaced.
func (s *Streams) leave(one *stream) {
	if one.at != nil && one.won {
		now := time.Now()
		s.groupDebts.add(one.key.Group, now)
		s.keyDebts.add(one.key, now)
	}
	s.remove(one)
}

// remove forgets a stream, its key with the last of it, and its group with the last of that.
func (s *Streams) remove(one *stream) {
	if one.at == nil {
		return
	}
	g := s.groups[one.key.Group]
	line := g.lines[one.key.One]
	line.Remove(one.at)
	one.at = nil
	s.count(one.key, g, line.Len())
	if line.Len() == 0 {
		delete(g.lines, one.key.One)
	}
	if g.counts.all == 0 {
		delete(s.groups, one.key.Group)
	}
}

func (s *Streams) count(key Key, g *streamGroup, n int) {
	g.counts.note(key.One, n)
	s.counts.note(key.Group, g.counts.all)
}

// Load says how many are open; nobody waits.
func (s *Streams) Load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{Taken: int64(s.counts.all), All: int64(s.bounds.All)}
}
