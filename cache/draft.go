package cache

import (
	"slices"
	"time"
)

// draft is an index that is not in a State yet. It contains the events before position seq.
type draft struct {
	index
	epoch *epoch
	seq   int64
}

// catchUp applies events until few are missing. It returns false if events come too fast or were dropped, or if the
// epoch has ended.
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

func (d *draft) follow(upTo int64) bool {
	for ; d.seq < upTo; d.seq++ {
		e := d.epoch.history.at(d.seq)
		if e == nil || d.epoch.end() != nil {
			return false
		}
		if e.audience != toFormerSelectors { // a change toFormerSelectors follows again as toOtherSelectors
			d.index = d.after(e.before, e.now)
		}
	}
	return d.epoch.end() == nil
}

// adopt adds a draft to the newest State. If drop is not nil, adopt removes the index of this demand. States in history
// keep the indexes that they were written with.
func (l *Lane) adopt(made *draft, drop *demand) {
	l.writing.Lock()
	defer l.writing.Unlock()
	s := l.state.Load()
	if s == nil || s.epoch != made.epoch || s.has(made.property) || !made.follow(s.seq) {
		return
	}
	l.reindex(s, append(without(s.indexes, drop), made.index))
	l.counters.indexed.Add(1)
	l.verifyIfEnabled()
}

// dropUnneeded drops lane-built indexes that are no longer worth their cost. The caller holds Lane.writing.
func (l *Lane) dropUnneeded(s *State, now time.Time) {
	indexes := s.indexes
	for _, d := range l.indexer.unneeded(s, now) {
		indexes = without(indexes, d)
	}
	if len(indexes) < len(s.indexes) {
		l.reindex(s, indexes)
		l.verifyIfEnabled()
	}
}

func without(indexes []index, d *demand) []index {
	return slices.DeleteFunc(slices.Clone(indexes), func(i index) bool { return d != nil && i.demand == d })
}

// reindex replaces the indexes of the written State s, and of the State that readers see if it has the same content.
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
