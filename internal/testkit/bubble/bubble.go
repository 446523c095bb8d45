package bubble

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// The type one limits the process to one processor while bubbles exist.
type one struct {
	mu      sync.Mutex
	bubbles int
	before  int // processors without bubbles
}

var processor one

// Test runs a test in a bubble, as synctest.Test does. It ends the process if the bubble has not ended after
// settings.Patience, in real time.
func Test(t *testing.T, test func(*testing.T)) {
	t.Helper()
	processor.enter()
	defer processor.leave()
	stuck := time.AfterFunc(settings.Patience(), func() { isStuck(t.Name()) })
	defer stuck.Stop()
	synctest.Test(t, test)
}

// isStuck prints all goroutines and ends the process. Time stands still in a bubble in which a goroutine waits for a
// mutex or the network, so no deadline inside ends it.
func isStuck(name string) {
	_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
	panic("the bubble of " + name + " has not ended, see the goroutines above")
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
