package cache

import (
	"errors"
	"sync"
	"sync/atomic"
)

// epoch is the life of a lane between two upstream lists (I11).
type epoch struct {
	options  Options
	keep     retention
	counters *counters
	history  *history
	feeds    feeds
	frames   frames
	sampled  atomic.Pointer[sample]
	ended    atomic.Pointer[error] // why the epoch is over, nil while it lasts

	newest      atomic.Pointer[State] // as written: what feeds are to be brought up to
	lostWindows atomic.Int64          // how many were bridged; counted before the first event of a gap is told
	vouched     vouchedFor            // guarded by Lane.writing
	dispatching atomic.Bool           // dispatch runs
	running     *sync.WaitGroup       // the lane's, of all that runs
	indexer     *indexer              // the lane's
}

func newEpoch(l *Lane) *epoch {
	keep := retention{age: l.options.HistoryWindow, bytes: l.options.HistoryBytes, floor: l.floor}
	return &epoch{options: l.options, keep: keep, counters: &l.counters, running: &l.running, indexer: &l.indexer}
}

// begin lets feeds go on behind s, the first State that readers will see.
func (e *epoch) begin(s *State) {
	e.feeds.init(s, &e.counters.feeds)
	e.newest.Store(s)
}

// finish ends the epoch after its last State. Its States stay readable for whoever holds one; a relist drops the
// history, so that lagging watchers do not show what the new epoch may contradict. Who finds history cleared finds the
// epoch ended, too: the reason is stored first.
func (e *epoch) finish(last *State, reason error) {
	e.ended.Store(&reason)
	var relisted *ExpiredError
	if errors.As(reason, &relisted) {
		e.history.clear(last)
	}
	e.feeds.finish()
}

// wholeAt returns the RV up to which there are no other events than before one at rv.
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
