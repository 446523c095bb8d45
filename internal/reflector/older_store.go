package reflector

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// olderStore contains the logs of one lane. It reads at most one log of a selection at a time. Watches that begin
// before this log wait for the next one, which begins at the lowest of their versions. Safe for concurrent use.
type olderStore struct {
	memory   *olderMemory
	clusters *clustersSeen
	bytes    atomic.Int64 // memory of the lane's logs
	world    olderWorld
	resolves chan struct{} // capacity 1: full while the befores of a log are read

	mu      sync.Mutex // guards the fields below and those of the logs
	queues  map[string]*olderQueue
	refused cache.RV  // oldest version that the upstream's last 410 names
	when    time.Time // time of that 410
	closed  bool
}

// olderQueue contains the logs of one selection: the log that is being read or is complete, and the log to read next.
type olderQueue struct{ current, next *olderLog }

// init prepares the store of a lane. before is the reason why the previous lane of the resource ended, or nil.
func (s *olderStore) init(memory *olderMemory, clusters *clustersSeen, before *Failure) {
	s.memory, s.clusters, s.queues = memory, clusters, map[string]*olderQueue{}
	s.resolves = make(chan struct{}, 1)
	s.world.follows = before != nil && errors.Is(before.Err, errRedefined)
}

// join adds a watch to the users of the log that serves this watch, or will serve it. It returns nil if there is no
// such log.
func (s *olderStore) join(key string, after cache.RV, lane *cache.Lane) *olderLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(key, after, lane)
}

// find does the work of join. The caller holds mu.
func (s *olderStore) find(key string, after cache.RV, lane *cache.Lane) *olderLog {
	q := s.queues[key]
	if q == nil {
		return nil
	}
	log := q.next
	switch {
	case q.current.serves(after, lane):
		log = q.current
	case log != nil:
		log.after = min(log.after, after)
	}
	if log != nil {
		log.users++
	}
	return log
}

// begin is like join, but adds a log if there is none. If start is true, the caller has to read the log. Otherwise, the
// log is complete, or the goroutine that reads the selection's logs reads it. begin returns nil if the store is closed
// or memory is lacking.
func (s *olderStore) begin(key string, after cache.RV, lane *cache.Lane) (log *olderLog, start bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if log := s.find(key, after, lane); log != nil {
		return log, false
	}
	log = newLog(s, key, after)
	log.users = 2 // the caller and the store
	if s.closed || !log.take(log.least()) {
		return nil, false
	}
	q := s.queues[key]
	switch {
	case q == nil:
		s.queues[key] = &olderQueue{current: log}
	case q.current.isDone():
		q.current.release()
		q.current = log
	default:
		q.next = log
		return log, false
	}
	return log, true
}

// finish ends a log with an error or nil. It returns the next log to read, or nil.
func (s *olderStore) finish(log *olderLog, err error) (next *olderLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log.err, log.ended = err, time.Now()
	if err != nil {
		log.events, log.unknown = nil, nil
		log.give(log.bytes - log.least())
	}
	var expired *cache.ExpiredError
	if errors.As(err, &expired) {
		s.refused, s.when = expired.Oldest, log.ended
	}
	log.last = nil
	if log.turn != nil {
		log.turn()
		log.turn = nil
	}
	close(log.done)
	q := s.queues[log.key]
	switch next = q.next; {
	case next != nil:
		q.current.release()
		q.current, q.next = next, nil
	case s.closed:
		q.current.release()
		delete(s.queues, log.key)
	}
	return next
}

// refusal returns *cache.ExpiredError for a version below the oldest one that a recent 410 of the upstream named.
// Without this check, a caller with such versions could make each new log fail, also for the other watches that wait
// for it.
func (s *olderStore) refusal(after cache.RV) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after >= s.refused || time.Since(s.when) > olderFailedFor {
		return nil
	}
	return &cache.ExpiredError{Requested: after, Oldest: s.refused}
}

func (s *olderStore) trim(lane *cache.Lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, q := range s.queues {
		if q.current.isDone() && (q.current.epoch != lane.Epochs() || time.Since(q.current.ended) > q.current.keptFor()) {
			q.current.release()
			delete(s.queues, key)
		}
	}
}

// close drops all complete logs, and refuses new ones. If a log was added but its goroutine can no longer start, finish
// drops this log and the next one.
func (s *olderStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for key, q := range s.queues {
		if q.current.isDone() {
			q.current.release()
			delete(s.queues, key)
		}
	}
}
