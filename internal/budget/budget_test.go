package budget

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is what a Budget keeps within a limit of 1000: some accounts, and garbage that nobody counts.
type machine struct {
	mu          sync.Mutex // guards all below
	accounts    map[string]int64
	other       int64 // what is live and no account has
	garbage     int64 // what was live in the last collection and is not any more
	collections uint64
	steps       []string // that were taken, in order
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

// live is what a collection would find. The caller holds m.mu.
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

// step lets go of an account.
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

// run runs a budget for a time.
func run(t *testing.T, b *Budget, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	b.Run(ctx)
}

func TestStepsInOrder(t *testing.T) {
	// What was just given up is garbage that a collection found live.
	synctest.Test(t, func(t *testing.T) {
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
			t.Errorf("%d are left of what stays", m.bytes("lanes"))
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
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(map[string]int64{"forms": c.forms, "history": c.history, "lanes": c.lanes})
			m.other = c.other
			b := m.budget(1000)
			run(t, b, every+every/2)
			left := fmt.Sprint(m.bytes("forms"), m.bytes("history"), m.bytes("lanes"))
			if !slices.Equal(m.steps, c.want) || left != c.left {
				t.Errorf("%+v: %v, %s are left", c, m.steps, left)
			}
			if used := b.Stats().Used; used > 800 {
				t.Errorf("%+v: %d are used", c, used)
			}
		})
	}
}

// What has become garbage since the last collection is no reason to let go of anything.
func TestGarbageIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100, "lanes": 400})
		m.garbage = 400
		b := m.budget(1000)
		if used := b.Stats().Used; used != 900 {
			t.Errorf("%d are used before anybody looked", used)
		}
		run(t, b, every+every/2)
		if used := b.Stats().Used; used != 500 || len(m.steps) > 0 || m.collections != 1 {
			t.Errorf("%d are used after %v and %d collections", used, m.steps, m.collections)
		}
		run(t, b, 10*every)
		if m.collections != 1 {
			t.Errorf("%d collections that are not needed", m.collections)
		}
	})
}

// Between two collections the accounts say what comes and goes, beside what nobody counts.
func TestUsedFollowsAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"lanes": 100})
		m.other = 50
		b := m.budget(1000)
		want := func(bytes int64) {
			t.Helper()
			<-time.After(countEvery)
			if used := b.Stats().Used; used != bytes {
				t.Errorf("%d are used, want %d", used, bytes)
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
			t.Error("nothing could be taken")
		}
	})
}

func TestTakeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100, "lanes": 600})
		b := m.budget(1000)
		first, ok := b.Take(Answers, 150) // up to the share
		if !ok {
			t.Fatal("the first is refused")
		}
		<-time.After(countEvery)
		second, ok := b.Take(Answers, 50) // forms have to go
		if !ok || m.bytes("forms") >= 100 {
			t.Fatalf("the second is refused: %v, %v", ok, m.steps)
		}
		m.set("forms", 100) // they come back at once
		<-time.After(countEvery)
		if _, ok := b.Take(Answers, 100); ok {
			t.Error("the third is let in, a moment after the last round")
		}
		if _, ok := b.Take(Watches, 100); ok {
			t.Error("a watch is let in")
		}
		for _, refused := range b.Stats().Refused {
			if refused.Count != 1 {
				t.Errorf("%+v", refused)
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
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100, "history": 100, "lanes": 500})
		b := m.budget(1000)
		if !b.Fits(50) || len(m.steps) > 0 {
			t.Errorf("what there is room for: %v", m.steps)
		}
		if b.Fits(751) || len(m.steps) > 0 {
			t.Errorf("what never fits: %v", m.steps)
		}
		if !b.Fits(200) || !slices.Equal(m.steps, []string{"forms", "history"}) {
			t.Errorf("what room can be made for: %v", m.steps)
		}
		if b.Fits(300) || m.bytes("lanes") != 500 {
			t.Errorf("what lanes in use would have to go for: %v", m.steps)
		}
	})
}

// Steps that are not needed are told, so that what was let go comes back by and by.
func TestStepsEase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 100})
		run(t, m.budget(1000), 3*every+every/2)
		if m.eased != 3 {
			t.Errorf("eased %d times", m.eased)
		}
	})
}

func TestWithoutLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"forms": 1 << 40})
		b := m.budget(0)
		give, ok := b.Take(Answers, 1<<40)
		run(t, b, 3*every)
		if !ok || !b.Fits(1<<50) || len(m.steps) > 0 || b.Share(0.1, 77) != 77 || b.Stats().Used != 2<<40 {
			t.Errorf("%v %v %+v", ok, m.steps, b.Stats())
		}
		give()
		var none *Budget
		if _, ok := none.Take(Answers, 1<<50); !ok || !none.Fits(1<<50) || none.Share(0.1, 77) != 77 {
			t.Error("no budget is no limit")
		}
	})
}

// Whoever takes and gives back leaves nothing, whatever the others do.
func TestTakenTogether(t *testing.T) {
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
			t.Errorf("%+v is left", amount)
		}
	}
}

// What the runtime says is about this process.
func TestReadRuntime(t *testing.T) {
	r := ReadRuntime()
	if r.Live <= 0 || r.Mapped <= 0 || r.Live > 4*r.Mapped {
		t.Errorf("%+v", r)
	}
}

// Answers under way and what watches do not need keep no lane from being filled.
func TestFitsBesideWhatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(map[string]int64{"lanes": 200})
		b := m.budget(1000)
		if _, ok := b.Take(Answers, 400); !ok || !b.Fits(300) || b.Fits(600) {
			t.Error("answers under way count as lanes do")
		}
		if _, ok := b.Take(Watches, 200); !ok {
			t.Error("there is memory for watches")
		}
		m.collect()
		if used := b.Stats().Used; used != 200+400+100 {
			t.Errorf("%d are used", used)
		}
	})
}

// What a dear step has let go is live for as long as somebody reads it: nothing more is let go for its sake.
func TestWhatLeavesIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
			t.Errorf("%d lanes went", len(m.steps))
		}
		if run(t, b, 2*leavingFor); len(m.steps) < 2 {
			t.Error("no lane goes although nobody let go of the first")
		}
	})
}
