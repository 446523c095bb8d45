package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// one makes a process use one processor while bubbles exist.
type one struct {
	mu      sync.Mutex
	bubbles int
	before  int // processors without bubbles
}

// processor is the state of the process's GOMAXPROCS.
var processor one

// Test runs a test in a bubble, as synctest.Test does.
func Test(t *testing.T, test func(*testing.T)) {
	t.Helper()
	processor.enter()
	defer processor.leave()
	synctest.Test(t, test)
}

func (o *one) enter() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bubbles++; o.bubbles == 1 {
		o.before = runtime.GOMAXPROCS(1)
	}
}

func (o *one) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bubbles--; o.bubbles == 0 {
		runtime.GOMAXPROCS(o.before)
	}
}
