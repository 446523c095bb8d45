package budget

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine simulates a process with accounts, garbage and memory that no account counts.
type machine struct {
	mu          sync.Mutex // guards the fields below
	accounts    map[string]int64
	other       int64 // live memory that no account counts
	garbage     int64 // live in the last collection, but garbage now
	collections uint64
	steps       []string // steps that ran, in order
	eased       int
}

func newMachine(accounts map[string]int64) *machine { return &machine{accounts: accounts} }

func (m *machine) budget(limit int64) *Budget {
	o := Options{Limit: limit, FillAbove: 0.75, RefuseAbove: 0.85, Runtime: m.runtime, Collect: m.collect}
	for _, name := range []string{"forms", "history", "lanes"} {
		o.Accounts = append(o.Accounts, Account{Name: name, Bytes: func() int64 { return m.bytes(name) }})
	}
	o.Steps = []Step{m.step("forms", 0.7), m.step("history", 0.75), m.step("lanes", 0.8)}
	o.Steps[0].Ease = func() { m.do(func() { m.eased++ }) }
	o.Admit = o.Steps[:2]
	return New(o)
}

func (m *machine) do(what func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what()
}

func (m *machine) bytes(account string) (bytes int64) {
	m.do(func() { bytes = m.accounts[account] })
	return bytes
}

func (m *machine) set(account string, bytes int64) { m.do(func() { m.accounts[account] = bytes }) }

// live returns the memory that a collection would find live. The caller holds m.mu.
func (m *machine) live() int64 {
	live := m.other
	for _, bytes := range m.accounts {
		live += bytes
	}
	return live
}

func (m *machine) runtime() (r Runtime) {
	m.do(func() { r = Runtime{Live: m.live() + m.garbage, Mapped: 2 * m.live(), Collections: m.collections} })
	return r
}

func (m *machine) collect() { m.do(func() { m.garbage = 0; m.collections++ }) }

// step returns a step that frees an account.
func (m *machine) step(account string, above float64) Step {
	return Step{Name: account, Above: above, Free: func(bytes int64) (freed int64) {
		m.do(func() {
			freed = min(bytes, m.accounts[account])
			m.accounts[account] -= freed
			if freed > 0 {
				m.steps = append(m.steps, account)
			}
		})
		return freed
	}}
}

// run runs a budget for a duration.
func run(t *testing.T, b *Budget, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	b.Run(ctx)
}

func TestStepsInOrder(t *testing.T) {
	// Memory that was just freed is garbage that the last collection found live.
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"lanes": 500})
		b := m.budget(1000)
		b.options.Steps[2].Costly = true
		run(t, b, every+every/2)
		m.do(func() { m.garbage = 400; m.collections++ })
		if run(t, b, 3*every); len(m.steps) > 0 {
			t.Errorf("%v, for garbage", m.steps)
		}
		give, ok := b.Take(Answers, 350)
		if run(t, b, 3*every); len(m.steps) > 0 || !ok {
			t.Errorf("%v, for answers", m.steps)
		}
		give()
		m.set("lanes", 900)
		run(t, b, every+every/2)
		m.set("lanes", 500)
		if run(t, b, 3*every); len(m.steps) > 0 {
			t.Errorf("%v, for what did not stay", m.steps)
		}
		m.set("lanes", 900)
		if run(t, b, 3*every); m.bytes("lanes") != 780 {
			t.Errorf("got %d bytes of lanes left", m.bytes("lanes"))
		}
	})
	for _, c := range []struct {
		forms, history, lanes, other int64
		want                         []string
		left                         string
	}{
		{100, 100, 400, 100, nil, "100 100 400"},
		{100, 100, 400, 150, []string{"forms"}, "30 100 400"}, // 750 is above 700 and not above 750
		{20, 100, 560, 100, []string{"forms", "history"}, "0 70 560"},
		{20, 10, 720, 100, []string{"forms", "history", "lanes"}, "0 0 680"},
		{0, 0, 800, 150, []string{"lanes"}, "0 0 630"},
	} {
		bubble.Test(t, func(t *testing.T) {
			m := newMachine(map[string]int64{"forms": c.forms, "history": c.history, "lanes": c.lanes})
			m.other = c.other
			b := m.budget(1000)
			run(t, b, every+every/2)
			left := fmt.Sprint(m.bytes("forms"), m.bytes("history"), m.bytes("lanes"))
			if !slices.Equal(m.steps, c.want) || left != c.left {
				t.Errorf("%+v: got steps %v, %s left", c, m.steps, left)
			}
			if used := b.Stats().Used; used > 800 {
				t.Errorf("%+v: got %d used", c, used)
			}
		})
	}
}

// Garbage since the last collection does not cause a step.
func TestGarbageIsNotUsed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100, "lanes": 400})
		m.garbage = 400
		b := m.budget(1000)
		if used := b.Stats().Used; used != 900 {
			t.Errorf("got %d used before the first round", used)
		}
		run(t, b, every+every/2)
		if used := b.Stats().Used; used != 500 || len(m.steps) > 0 || m.collections != 1 {
			t.Errorf("got %d used after steps %v and %d collections", used, m.steps, m.collections)
		}
		run(t, b, 10*every)
		if m.collections != 1 {
			t.Errorf("got %d unnecessary collections", m.collections)
		}
	})
}

// Between two collections the estimate follows the accounts, in addition to the memory that no account counts.
func TestUsedFollowsAccounts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"lanes": 100})
		m.other = 50
		b := m.budget(1000)
		want := func(bytes int64) {
			t.Helper()
			<-time.After(countEvery)
			if used := b.Stats().Used; used != bytes {
				t.Errorf("got %d used, want %d", used, bytes)
			}
		}
		want(150)
		m.set("lanes", 300)
		want(350)
		give, ok := b.Take(Answers, 200)
		want(550)
		give()
		give()
		want(350)
		m.set("lanes", 0)
		want(50)
		m.do(func() { m.other = 400; m.collections++ })
		want(400)
		if !ok {
			t.Error("got a refusal, want memory")
		}
	})
}

func TestTakeIsRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100, "lanes": 600})
		b := m.budget(1000)
		first, ok := b.Take(Answers, 150) // up to the share
		if !ok {
			t.Fatal("the first is refused")
		}
		<-time.After(countEvery)
		second, ok := b.Take(Answers, 50) // needs a step that frees forms
		if !ok || m.bytes("forms") >= 100 {
			t.Fatalf("the second is refused: %v, %v", ok, m.steps)
		}
		m.set("forms", 100) // they grow again immediately
		<-time.After(countEvery)
		if _, ok := b.Take(Answers, 100); ok {
			t.Error("the third is admitted less than a second after the last round")
		}
		if _, ok := b.Take(Watches, 100); ok {
			t.Error("a watch is admitted")
		}
		for _, refused := range b.Stats().Refused {
			if refused.Count != 1 {
				t.Errorf("got %+v", refused)
			}
		}
		first()
		second()
		if _, ok := b.Take(Answers, 100); !ok {
			t.Error("it is refused when there is memory again")
		}
	})
}

func TestFits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100, "history": 100, "lanes": 500})
		b := m.budget(1000)
		if !b.Fits(50) || len(m.steps) > 0 {
			t.Errorf("a lane that fits: got steps %v", m.steps)
		}
		if b.Fits(751) || len(m.steps) > 0 {
			t.Errorf("a lane that can never fit: got steps %v", m.steps)
		}
		if !b.Fits(200) || !slices.Equal(m.steps, []string{"forms", "history"}) {
			t.Errorf("a lane that fits after steps: got steps %v", m.steps)
		}
		if b.Fits(300) || m.bytes("lanes") != 500 {
			t.Errorf("a lane that would displace lanes in use: got steps %v", m.steps)
		}
	})
}

// Ease is called for steps that are not needed, and freed memory may then grow again.
func TestStepsEase(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100})
		run(t, m.budget(1000), 3*every+every/2)
		if m.eased != 3 {
			t.Errorf("got %d calls of Ease", m.eased)
		}
	})
}

func TestWithoutLimit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 1 << 40})
		b := m.budget(0)
		give, ok := b.Take(Answers, 1<<40)
		run(t, b, 3*every)
		if !ok || !b.Fits(1<<50) || len(m.steps) > 0 || b.Share(0.1, 77) != 77 || b.Stats().Used != 2<<40 {
			t.Errorf("got %v %v %+v", ok, m.steps, b.Stats())
		}
		give()
		var none *Budget
		if _, ok := none.Take(Answers, 1<<50); !ok || !none.Fits(1<<50) || none.Share(0.1, 77) != 77 {
			t.Error("got a refusal of a nil Budget")
		}
	})
}

// After concurrent calls of Take and give, nothing stays taken.
func TestConcurrentTakeLeavesNothing(t *testing.T) {
	m := newMachine(map[string]int64{"forms": 200, "lanes": 500})
	b := m.budget(1000)
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { b.Run(ctx) })
	var askers sync.WaitGroup
	for i := range 8 {
		askers.Go(func() {
			for range 200 {
				if give, ok := b.Take(Purpose(i%2), 20); ok {
					give()
				}
				b.Fits(100)
				b.Stats()
			}
		})
	}
	askers.Wait()
	cancel()
	wait.Wait()
	for _, amount := range b.Stats().Accounted[3:] {
		if amount.Bytes != 0 {
			t.Errorf("got %+v, want 0 bytes", amount)
		}
	}
}

// ReadRuntime returns plausible numbers of this process.
func TestReadRuntime(t *testing.T) {
	r := ReadRuntime()
	if r.Live <= 0 || r.Mapped <= 0 || r.Live > 4*r.Mapped {
		t.Errorf("got %+v", r)
	}
}

// Responses in flight and the surplus of watches do not prevent a lane from being filled.
func TestFitsIgnoresResponsesInFlight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"lanes": 200})
		b := m.budget(1000)
		if _, ok := b.Take(Answers, 400); !ok || !b.Fits(300) || b.Fits(600) {
			t.Error("responses in flight count like lanes")
		}
		if _, ok := b.Take(Watches, 200); !ok {
			t.Error("got memory for watches, want a refusal")
		}
		m.collect()
		if used := b.Stats().Used; used != 200+400+100 {
			t.Errorf("got %d used", used)
		}
	})
}

// Memory that a costly step freed stays live while readers reference it. It does not cause another step.
func TestFreedMemoryMayStillBeReferenced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"lanes": 900})
		b := m.budget(1000)
		b.options.Steps[2].Costly = true
		free := b.options.Steps[2].Free
		b.options.Steps[2].Free = func(bytes int64) int64 {
			freed := free(bytes)
			m.do(func() { m.other += freed })
			return freed
		}
		if run(t, b, 30*every); len(m.steps) != 1 {
			t.Errorf("got %d lanes freed", len(m.steps))
		}
		if run(t, b, 2*leavingFor); len(m.steps) < 2 {
			t.Error("got no second step although the first lane is still referenced")
		}
	})
}
