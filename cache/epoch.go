package cache

import (
	"errors"
	"sync"
	"sync/atomic"
)

type epoch struct {
	options  Options
	keep     retention
	counters *counters
	history  *history
	feeds    feeds
	frames   frames
	sampled  atomic.Pointer[sample]
	ended    atomic.Pointer[error] // why the epoch ended; nil while it lasts

	newest      atomic.Pointer[State] // newest written State, to which the dispatcher brings the feeds
	packed      atomic.Int64          // position in history up to which objects were packed
	lostWindows atomic.Int64          // number of replays; counted before their events are readable
	vouched     vouchedFor            // vouched RVs above the written State; guarded by Lane.writing
	dispatching atomic.Bool           // whether dispatch is running
	running     *sync.WaitGroup       // the lane's wait group for dispatchers
	indexer     *indexer
}

func newEpoch(l *Lane) *epoch {
	keep := retention{age: l.options.HistoryWindow, bytes: l.options.HistoryBytes, floor: l.floor}
	return &epoch{options: l.options, keep: keep, counters: &l.counters, running: &l.running, indexer: &l.indexer}
}

// begin prepares the feeds for events after s, the first State of the epoch that readers will see.
func (e *epoch) begin(s *State) {
	e.feeds.init(s, &e.counters.feeds)
	e.newest.Store(s)
}

// finish ends the epoch after its last State. Readers may continue to use its States. A relist also clears the history,
// because slow watchers must not send events that the new epoch may contradict. finish stores the reason first, so a
// watcher that finds the history cleared also finds the epoch ended.
func (e *epoch) finish(last *State, reason error) {
	e.ended.Store(&reason)
	var relisted *ExpiredError
	if errors.As(reason, &relisted) {
		e.history.clear(last)
	}
	e.feeds.finish()
}

// wholeAt returns the RV up to which the lane is complete after an event at rv. With ReadFromEtcd, more deletions may
// follow at rv.
func (e *epoch) wholeAt(rv RV) RV {
	if e.options.ReadFromEtcd && rv > 0 {
		return rv - 1
	}
	return rv
}

func (e *epoch) end() error {
	if reason := e.ended.Load(); reason != nil {
		return *reason
	}
	return nil
}
