package cache

import (
	"slices"
	"time"
)

// draft is an index that is not in a State yet: it has the events of its epoch before a position.
type draft struct {
	index
	epoch *epoch
	seq   int64
}

// catchUp brings the draft to where the lane is, or near it: the rest is for adopt, which holds up the writer. It fails
// when the epoch is over, or history does not hold what the draft lacks.
func (d *draft) catchUp() bool {
	const near, attempts = 16, 32
	for range attempts {
		newest := d.epoch.newest.Load().seq
		if !d.follow(newest) {
			return false
		}
		if d.epoch.newest.Load().seq-newest <= near {
			return true
		}
	}
	return false
}

// follow applies the events up to a position.
func (d *draft) follow(upTo int64) bool {
	for ; d.seq < upTo; d.seq++ {
		e := d.epoch.history.at(d.seq)
		if e == nil || d.epoch.end() != nil {
			return false
		}
		if e.tells != toThoseItLeaves { // the change itself is to come
			d.index = d.after(e.before, e.now)
		}
	}
	return d.epoch.end() == nil
}

// adopt takes a draft into the newest State and drops another index for it, unless that is nil. States in history have
// the indexes that they were written with.
func (l *Lane) adopt(made *draft, drop *demand) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil || s.epoch != made.epoch || s.has(made.property) || !made.follow(s.seq) {
		return
	}
	l.reindex(s, append(without(s.indexes, drop), made.index))
	l.counters.indexed.Add(1)
	l.verifyIfAsked()
}

// dropUnneeded drops the indexes that the lane built and needs no more. Only a writer calls it.
func (l *Lane) dropUnneeded(s *State, now time.Time) {
	indexes := s.indexes
	for _, d := range l.indexer.unneeded(s, now) {
		indexes = without(indexes, d)
	}
	if len(indexes) < len(s.indexes) {
		l.reindex(s, indexes)
		l.verifyIfAsked()
	}
}

// without returns the indexes but for that of a demand, if it is not nil, in a slice of its own.
func without(indexes []index, d *demand) []index {
	return slices.DeleteFunc(slices.Clone(indexes), func(i index) bool { return d != nil && i.demand == d })
}

// reindex puts other indexes into the written State s, and into what readers see if it is of the same content.
func (l *Lane) reindex(s *State, indexes []index) {
	next := *s
	next.indexes = indexes
	l.state.Store(&next)
	if shown := l.shown.Load(); shown.epoch == s.epoch && shown.seq == s.seq {
		again := *shown
		again.indexes = indexes
		l.shown.Store(&again)
	}
}
