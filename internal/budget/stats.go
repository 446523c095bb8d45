package budget

import (
	"slices"
	"sync/atomic"
)

// Stats are the numbers of a Budget. Counters count since the start.
type Stats struct {
	Limit     int64 // in bytes; 0 means no limit
	Used      int64 // in bytes; estimate that is compared with the shares of steps
	Mapped    int64 // in bytes; all memory that the Go runtime has mapped, garbage included
	Accounted []Amount
	Steps     []StepStats
	Refused   []Refusals
}

// Amount is the number of bytes of an account.
type Amount struct {
	Account string
	Bytes   int64
}

// StepStats counts how often a step freed memory, and how many bytes.
type StepStats struct {
	Step         string
	Taken, Bytes int64
}

// Refusals counts how often there was not enough memory for a purpose.
type Refusals struct {
	Purpose string
	Count   int64
}

type tally struct {
	steps   []string
	taken   []atomic.Int64
	bytes   []atomic.Int64
	refused [purposes]atomic.Int64
}

func (t *tally) init(lists ...[]Step) {
	for _, list := range lists {
		for _, step := range list {
			if !slices.Contains(t.steps, step.Name) {
				t.steps = append(t.steps, step.Name)
			}
		}
	}
	t.taken, t.bytes = make([]atomic.Int64, len(t.steps)), make([]atomic.Int64, len(t.steps))
}

func (t *tally) note(step string, bytes int64) {
	i := slices.Index(t.steps, step)
	t.taken[i].Add(1)
	t.bytes[i].Add(bytes)
}

// Stats returns the current numbers.
func (b *Budget) Stats() Stats {
	s := Stats{Limit: b.options.Limit, Used: b.used(), Mapped: b.options.Runtime().Mapped}
	for _, account := range b.options.Accounts {
		s.Accounted = append(s.Accounted, Amount{Account: account.Name, Bytes: account.Bytes()})
	}
	for p := range purposes {
		s.Accounted = append(s.Accounted, Amount{Account: p.String(), Bytes: b.taken[p].Load()})
	}
	for i, step := range b.tally.steps {
		s.Steps = append(s.Steps, StepStats{Step: step, Taken: b.tally.taken[i].Load(), Bytes: b.tally.bytes[i].Load()})
	}
	for p := range purposes {
		s.Refused = append(s.Refused, Refusals{Purpose: p.String(), Count: b.tally.refused[p].Load()})
	}
	return s
}
