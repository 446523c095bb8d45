package handlers

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
)

// gated is an authenticator that counts requests. It answers when the gate is closed.
type gated struct {
	gate    chan struct{}
	entered atomic.Int64
}

// Authenticate implements Authenticator.
func (g *gated) Authenticate(r *http.Request) (*auth.Caller, error) {
	g.entered.Add(1)
	<-g.gate
	return named{}.Authenticate(r)
}

// openAll opens watches of one user at the same time. The returned function waits for the responses.
func (f *facade) openAll(t *testing.T, n int) (wait func()) {
	// Without events, because the client does not read.
	target := fmt.Sprint(allOfThem, "?watch=1&resourceVersion=", f.RV())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if response := f.as(t, "a", target); response.StatusCode != http.StatusOK {
				t.Errorf("got %s", response.Status)
			}
		})
	}
	return all.Wait
}

// When many clients connect at once, few of their watches compete for the processors. Watches that wait for a review
// hold up others for a moment only.
func TestWatchesBeginInTurns(t *testing.T) {
	g := &gated{}
	inBubble(t, func(t *testing.T, f *facade) {
		g.gate = make(chan struct{}) // of the bubble
		few := int64(turnsPerProcessor * runtime.GOMAXPROCS(0))
		wait := f.openAll(t, int(4*few))
		for turn := int64(1); turn <= 4; turn++ {
			synctest.Wait()
			if n := g.entered.Load(); n != turn*few {
				t.Errorf("in turn %d, got %d watches in authentication so far, want %d", turn, n, turn*few)
			}
			<-time.After(turnTime)
		}
		close(g.gate)
		wait()
	}, func(c *Config) { c.Authenticator = g })
}

// The turn of a watch ends when it is open, so that others need not wait for turnTime.
func TestTurnEndsWhenWatchIsOpen(t *testing.T) {
	within(t, Limits{}, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0]) // fills the lane
		began := time.Now()
		f.openAll(t, 10*turnsPerProcessor*runtime.GOMAXPROCS(0))()
		if took := time.Since(began); took != 0 {
			t.Errorf("all watches were open after %v of virtual time, want none", took)
		}
	})
}

// Other requests need no turn, so that a list does not wait for watches.
func TestListsNeedNoTurn(t *testing.T) {
	g := &gated{}
	inBubble(t, func(t *testing.T, f *facade) {
		g.gate = make(chan struct{})
		watches := turnsPerProcessor * runtime.GOMAXPROCS(0)
		wait := f.openAll(t, watches)
		synctest.Wait()
		listed := make(chan struct{})
		go func() { defer close(listed); f.as(t, "a", allOfThem) }()
		synctest.Wait()
		if n := g.entered.Load(); n != int64(watches)+1 {
			t.Errorf("got %d requests in authentication, want %d watches and a list", n, watches)
		}
		close(g.gate)
		<-listed
		wait()
	}, func(c *Config) { c.Authenticator = g })
}
