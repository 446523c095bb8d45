package watches

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

const (
	conformanceWorkloads = 6 // unless LISTFACADE_WORKLOADS says how many; half of it in a short run
	conformanceSlots     = 6 // workloads at a time
	differentWorkloads   = 8 // are enough
	workloadFiles        = "../../testdata/conformance/workloads/*.txt"
)

// TestConformanceWorkloads runs recorded and random workloads. Each writes to kube-apiserver and watches through both
// servers. LISTFACADE_SEED repeats an earlier run, and with LISTFACADE_WORKLOADS=1 only the workload with that seed.
func TestConformanceWorkloads(t *testing.T) {
	t.Parallel() // this test has its own cluster
	first := settings.Seed(t)
	budget := settings.NewBudget(t, "LISTFACADE_WORKLOADS", settings.Amount(3, conformanceWorkloads))
	a := newWorkloadCluster(t)
	var begun, done, different atomic.Int64
	var workers sync.WaitGroup
	for number := range max(min(budget.Tries/2, conformanceSlots), 1) { // a slot takes as long as half a workload
		s := a.newSlot(t, number)
		workers.Go(func() {
			if number == 0 {
				s.runFiles(t)
			}
			for {
				before := int(begun.Add(1) - 1)
				if !budget.Allows(before) || different.Load() >= differentWorkloads {
					return
				}
				seed := first + uint64(before)
				done.Add(1)
				if !t.Run(fmt.Sprint(seed), func(t *testing.T) { s.runSeed(t, seed) }) {
					different.Add(1)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d workloads, %d answered differently", done.Load(), different.Load())
	if missed := budget.Missed(int(done.Load())); missed > 0 && different.Load() < differentWorkloads {
		t.Errorf("there was no time for %d of %d workloads", missed, budget.Tries)
	}
}

func (s *slot) runSeed(t *testing.T, seed uint64) {
	script := testkit.NewScript(seed)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this is LISTFACADE_SEED=%d LISTFACADE_WORKLOADS=1; for testdata/conformance/workloads:\n%s", seed, script)
		}
	})
	s.run(t, "w"+strconv.FormatUint(seed, 36), script)
}

// runFiles runs the workloads that once showed a difference.
func (s *slot) runFiles(t *testing.T) {
	files, err := filepath.Glob(workloadFiles)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", workloadFiles, err)
	}
	for i, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, err := testkit.ParseScript(string(text))
			if err != nil {
				t.Fatal(err)
			}
			s.run(t, fmt.Sprintf("r%d", i), script)
		})
	}
}
