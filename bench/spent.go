package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/listfacade/listfacade/bench/internal/proc"
)

// spent is processor time up to a moment, or between two moments.
type spent struct {
	at                            time.Time
	took                          time.Duration // between two moments
	facade, upstream, self, other time.Duration // other is of all other processes of the machine
}

// spent returns the processor time so far.
func (r *nodeRun) spent() (s spent, err error) {
	var errs [4]error
	s.at = time.Now()
	s.facade, errs[0] = r.facade.process.CPU()
	s.upstream, errs[1] = r.upstream.process.CPU()
	s.self, errs[2] = proc.Process(os.Getpid()).CPU()
	s.other, errs[3] = proc.Busy()
	s.other -= s.facade + s.upstream + s.self
	return s, errors.Join(errs[:]...)
}

func (s spent) minus(t spent) spent {
	return spent{took: s.at.Sub(t.at), facade: s.facade - t.facade, upstream: s.upstream - t.upstream,
		self: s.self - t.self, other: s.other - t.other}
}

// String returns the average number of processors that each program used.
func (s spent) String() string {
	share := func(d time.Duration) float64 { return d.Seconds() / s.took.Seconds() }
	return fmt.Sprintf("facade %.2f, clients %.2f, upstream %.2f, other programs %.2f, of %d", share(s.facade),
		share(s.self), share(s.upstream), share(s.other), runtime.NumCPU())
}
