package budget

import (
	"slices"
	"sync/atomic"
)

// Stats are a Budget in numbers. Counters count since the start.
type Stats struct {
	Limit     int64 // 0: none
	Used      int64 // what steps are taken by
	Mapped    int64 // all that the process has of the system, garbage included
	Accounted []Amount
	Steps     []StepStats
	Refused   []Refusals
}

// Amount is what an account has.
type Amount struct {
	Account string
	Bytes   int64
}

// StepStats are how often a step let go of something, and of how many bytes.
type StepStats struct {
	Step         string
	Taken, Bytes int64
}

// Refusals are how often there was no memory for a purpose.
type Refusals struct {
	Purpose string
	Count   int64
}

// tally counts what was done.
type tally struct {
	steps   []string
	taken   []atomic.Int64
	bytes   []atomic.Int64
	refused [purposes]atomic.Int64
}

// init counts the steps of both lists, by name.
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

// Stats are the numbers of the moment.
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
