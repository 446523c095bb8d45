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
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/wire"
)

// MemoryBudget is the number of bytes of memory that the process may use. 0 means no limit, and OwnMemory a detected
// limit. As a flag it is a quantity such as 2Gi, or auto.
type MemoryBudget int64

// OwnMemory is GOMEMLIMIT if set. Otherwise it is nine tenths of the cgroup's limit, or less so that 48 MiB stay
// unused, but at least half of the cgroup's limit. Without a cgroup limit it means no limit.
const OwnMemory MemoryBudget = -1

// smallestMemory is the minimum budget in bytes. A facade with an empty cache uses about 30 MB.
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
		return fmt.Errorf("must be %s or a quantity such as 2Gi: %w", autoMemory, err)
	}
	if *m = MemoryBudget(quantity.Value()); *m < 0 || *m > 0 && *m < smallestMemory {
		return fmt.Errorf("must be 0 for no limit, or at least %d bytes", smallestMemory)
	}
	return nil
}

func (m *MemoryBudget) String() string {
	if *m == OwnMemory {
		return autoMemory
	}
	return strconv.FormatInt(int64(*m), 10)
}

// Type implements pflag.Value.
func (m *MemoryBudget) Type() string { return "auto|quantity" }

// kernelShare is the share of the cgroup's limit that the process may use. kernelRest is the minimum number of bytes
// that stay unused. The unused bytes are for memory that the kernel counts and Go does not, such as socket buffers and
// the program. They are also for memory allocated during collections. Go's limit is soft: with ten busy processes for
// each processor, the process exceeded the limit by 34 MiB.
const (
	kernelShare = 0.9
	kernelRest  = 48 << 20
)

func within(limit int64) MemoryBudget {
	return MemoryBudget(max(min(int64(kernelShare*float64(limit)), limit-kernelRest), limit/2))
}

// resolve returns the budget in bytes, 0 for no limit, and its source.
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
	return 0, "--memory-budget=auto"
}

// boundMemory returns the budget and logs it. It sets Go's memory limit to the budget, unless a limit is already set.
func boundMemory(m MemoryBudget, log *zap.Logger) MemoryBudget {
	bytes, from := m.resolve()
	if bytes > 0 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(int64(bytes))
	}
	if bytes > 0 && bytes < smallestMemory {
		log.Warn("Memory budget is below the minimum", zap.Int("minimum", smallestMemory))
	}
	log.Info("Memory budget set", zap.Int64("bytes", int64(bytes)), zap.String("from", from))
	return bytes
}

// MemoryMarks are shares of the memory budget, from 0 to 1, above which memory is freed or refused. The highest mark
// leaves memory unused, because the garbage collector uses more CPU close to the limit.
type MemoryMarks struct {
	Precompressed float64 // above it, precompressed pages are dropped
	History       float64 // above it, events that only the facade keeps are dropped
	Fill          float64 // above it, no lane is filled
	// Above it, lanes are dropped, the least used first. The memory of responses does not count for this mark.
	Lanes   float64
	Answers float64 // above it, large responses and watches are refused
}

func defaultMemoryMarks() MemoryMarks {
	return MemoryMarks{Precompressed: 0.65, History: 0.7, Fill: 0.7, Lanes: 0.75, Answers: 0.85}
}

// When a lane is filled by limit and continue, a response has at most pageShare of the memory, and at most mostPage
// bytes. Two such responses are in memory at a time, in buffers that may be larger.
const (
	pageShare = 1.0 / 16
	mostPage  = 64 << 20
)

// newMemory returns the memory budget. The functions in the budget use fields of f that New sets later.
func newMemory(f *Facade, c Config) *budget.Budget {
	marks := c.MemoryMarks
	precompressed := budget.Step{
		Name: "precompressed", Above: marks.Precompressed,
		Free: func(bytes int64) int64 { return f.precompressed.Yield(bytes) }, Ease: func() { f.precompressed.Recover() },
	}
	history := budget.Step{Name: "history", Above: marks.History,
		Free: func(bytes int64) int64 { return f.lanes.Shorten(bytes) }}
	coldest := budget.Step{Name: "coldest_lane", Above: marks.Lanes, Costly: true,
		Free: func(bytes int64) int64 { return f.lanes.DropColdest(bytes) }}
	unread := budget.Step{Name: "unread_lane", Free: func(bytes int64) int64 { return f.lanes.DropUnread(bytes) }}
	return budget.New(budget.Options{
		Limit: max(int64(c.MemoryBudget), 0), Accounts: f.accounts(), FillAbove: marks.Fill, RefuseAbove: marks.Answers,
		Steps: []budget.Step{precompressed, history, coldest}, Admit: []budget.Step{precompressed, history, unread},
	})
}

func (f *Facade) accounts() []budget.Account {
	ofLanes := func(read func(metrics.LaneStats) int64) func() int64 {
		return func() (bytes int64) {
			for _, lane := range f.Lanes() {
				bytes += read(lane)
			}
			return bytes
		}
	}
	return []budget.Account{
		{Name: "lanes", Bytes: ofLanes(func(s metrics.LaneStats) int64 {
			return s.ObjectMemory + s.IndexBytes +
				s.FillBytes
		})},
		{Name: "history", Bytes: ofLanes(func(s metrics.LaneStats) int64 { return s.HistoryBytes })},
		{Name: "precompressed", Bytes: func() int64 { return f.precompressed.Stats().Bytes }},
		{Name: "unpacked", Bytes: wire.OpenBytes},
	}
}

func (f *Facade) memoryStats() metrics.MemoryStats {
	s := f.memory.Stats()
	stats := metrics.MemoryStats{
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
