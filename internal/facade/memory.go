package facade

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/listfacade/listfacade/internal/budget"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/wire"
)

// MemoryBudget is how many bytes of memory the process may take; 0 is any number, and OwnMemory what it finds out. As a
// flag it is a quantity, as in 2Gi, or auto.
type MemoryBudget int64

// OwnMemory is GOMEMLIMIT where it is set, else nine tenths of the cgroup's limit and at most all but 32 MiB of it,
// else any number.
const OwnMemory MemoryBudget = -1

// smallestMemory is the least that a facade can work with: what it takes when it caches nothing is some 30 MB.
const smallestMemory = 64 << 20

const autoMemory = "auto"

// Set implements pflag.Value.
func (m *MemoryBudget) Set(text string) error {
	if text == autoMemory {
		*m = OwnMemory
		return nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("must be %s or a quantity, as in 2Gi: %w", autoMemory, err)
	}
	if *m = MemoryBudget(quantity.Value()); *m < 0 || *m > 0 && *m < smallestMemory {
		return fmt.Errorf("must be 0 for any number, or %d bytes at least", smallestMemory)
	}
	return nil
}

// String implements pflag.Value.
func (m *MemoryBudget) String() string {
	if *m == OwnMemory {
		return autoMemory
	}
	return strconv.FormatInt(int64(*m), 10)
}

// Type implements pflag.Value.
func (m *MemoryBudget) Type() string { return "auto|quantity" }

// kernelShare is how much of what the kernel lets the process have it takes itself, and kernelRest how many bytes it
// leaves at least. They are for what the kernel counts and Go does not, such as sockets' buffers and the program, and
// for what is added while garbage is being collected: Go's limit is one that it comes back to, and on a busy machine
// some 10 MiB were seen beyond it.
const (
	kernelShare = 0.9
	kernelRest  = 32 << 20
)

// within is how much memory to take of what the kernel lets the process have: half of it in any case.
func within(limit int64) MemoryBudget {
	return MemoryBudget(max(min(int64(kernelShare*float64(limit)), limit-kernelRest), limit/2))
}

// resolve finds out how much memory there is, and says who told.
func (m MemoryBudget) resolve() (bytes MemoryBudget, from string) {
	switch limit := debug.SetMemoryLimit(-1); {
	case m != OwnMemory:
		return m, "--memory-budget"
	case limit != math.MaxInt64:
		return MemoryBudget(limit), "GOMEMLIMIT"
	}
	if limit := budget.CgroupLimit(os.DirFS("/")); limit > 0 {
		return within(limit), "the cgroup"
	}
	return 0, "nothing that limits it"
}

// boundMemory says how much memory there is, and lets the collector work harder near it, unless whoever starts the
// process has said where.
func boundMemory(m MemoryBudget, log *zap.Logger) MemoryBudget {
	bytes, from := m.resolve()
	if bytes > 0 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(int64(bytes))
	}
	if bytes > 0 && bytes < smallestMemory {
		log.Warn("there is less memory than a facade works with", zap.Int("atLeast", smallestMemory))
	}
	log.Info("memory budget", zap.Int64("bytes", int64(bytes)), zap.String("from", from))
	return bytes
}

// MemoryMarks are the shares of the memory budget above which something is done about it, from 0 to 1. Between the
// last and the whole the collector has room to work: the nearer it is to its limit, the more of the processor it takes.
type MemoryMarks struct {
	Precompressed float64 // above it compressed parts of lists are let go,
	History       float64 // events that only we keep,
	Fill          float64 // above it no lane is filled
	Lanes         float64 // above it, answers not counted, lanes are let go, the coldest first
	Answers       float64 // above it large answers and watches are refused
}

func defaultMemoryMarks() MemoryMarks {
	return MemoryMarks{Precompressed: 0.65, History: 0.7, Fill: 0.7, Lanes: 0.75, Answers: 0.85}
}

// Two pages of a list that fills a lane are held at a time, each of them in a buffer that has grown. A page is no
// larger than a share of the memory, and than so many bytes.
const (
	pageShare = 1.0 / 16
	mostPage  = 64 << 20
)

// newMemory is the budget of what f has by then, and of what it is given later.
func newMemory(f *Facade, c Config) *budget.Budget {
	marks := c.MemoryMarks
	precompressed := budget.Step{
		Name: "forms", Above: marks.Precompressed, Free: func(bytes int64) int64 { return f.precompressed.Yield(bytes) }, Ease: func() { f.precompressed.Recover() },
	}
	history := budget.Step{Name: "history", Above: marks.History, Free: func(bytes int64) int64 { return f.lanes.Shorten(bytes) }}
	coldest := budget.Step{Name: "coldest_lane", Above: marks.Lanes, Costly: true, Free: func(bytes int64) int64 { return f.lanes.DropColdest(bytes) }}
	unread := budget.Step{Name: "unread_lane", Free: func(bytes int64) int64 { return f.lanes.DropUnread(bytes) }}
	return budget.New(budget.Options{
		Limit: max(int64(c.MemoryBudget), 0), Accounts: f.accounts(), FillAbove: marks.Fill, RefuseAbove: marks.Answers,
		Steps: []budget.Step{precompressed, history, coldest}, Admit: []budget.Step{precompressed, history, unread},
	})
}

// accounts are what takes memory and is counted.
func (f *Facade) accounts() []budget.Account {
	ofLanes := func(read func(observe.LaneStats) int64) func() int64 {
		return func() (bytes int64) {
			for _, lane := range f.Lanes() {
				bytes += read(lane)
			}
			return bytes
		}
	}
	return []budget.Account{
		{Name: "lanes", Bytes: ofLanes(func(s observe.LaneStats) int64 { return s.ObjectMemory + s.IndexBytes + s.FillBytes })},
		{Name: "history", Bytes: ofLanes(func(s observe.LaneStats) int64 { return s.HistoryBytes })},
		{Name: "forms", Bytes: func() int64 { return f.precompressed.Stats().Bytes }},
		{Name: "unpacked", Bytes: wire.OpenBytes},
	}
}

// memoryStats are the budget in numbers.
func (f *Facade) memoryStats() observe.MemoryStats {
	s := f.memory.Stats()
	stats := observe.MemoryStats{
		Budget: s.Limit, Used: s.Used, Mapped: s.Mapped, Accounted: map[string]int64{}, Relieved: map[string]int64{},
		RelievedOf: map[string]int64{}, Refused: map[string]int64{},
	}
	for _, amount := range s.Accounted {
		stats.Accounted[amount.Account] = amount.Bytes
	}
	for _, step := range s.Steps {
		stats.Relieved[step.Step], stats.RelievedOf[step.Step] = step.Taken, step.Bytes
	}
	for _, refusals := range s.Refused {
		stats.Refused[refusals.Purpose] = refusals.Count
	}
	return stats
}
