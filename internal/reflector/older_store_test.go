package reflector

import (
	"errors"
	"testing"
)

// A lane may be stopped between the moment that a watch adds a log and the moment that it starts to read it. That log
// and the next one then end, and their memory is returned.
func TestLogsThatAreNotReadEndWithTheLane(t *testing.T) {
	memory := &olderMemory{memory: unlimited{}}
	var s olderStore
	s.init(memory, new(clustersSeen), nil)
	first, start := s.begin(everything, 5, nil)
	second, startsToo := s.begin(everything, 3, nil)
	if !start || startsToo || first == second {
		t.Fatalf("got %t and %t, want one log to read and another after it", start, startsToo)
	}
	s.close()
	if next := s.finish(first, ErrStopped); next != second {
		t.Fatal("the next log is not ended")
	}
	if s.finish(second, ErrStopped) != nil {
		t.Error("got a third log")
	}
	for _, log := range []*olderLog{first, second} {
		if err := log.await(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("got %v", err)
		}
		log.leave()
	}
	if n := memory.bytes.Load(); n != 0 || len(s.queues) != 0 {
		t.Errorf("%d bytes and %d selections remain", n, len(s.queues))
	}
}
