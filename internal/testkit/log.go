package testkit

import (
	"sync"
	"testing"

	"go.uber.org/zap/zaptest"
)

// UntilEnd returns a test for zaptest.NewLogger that drops the lines after the end of the test. A facade does not wait
// for requests to the upstream that several callers share, such as discovery. If one fails after the test, its line
// would be a data race with the end of the test. Safe for concurrent use.
func UntilEnd(t testing.TB) zaptest.TestingT {
	l := &untilEnd{TB: t}
	t.Cleanup(l.end)
	return l
}

type untilEnd struct {
	testing.TB
	mu   sync.Mutex // guards over, and keeps the test running during Logf
	over bool
}

// Logf implements zaptest.TestingT.
func (l *untilEnd) Logf(format string, values ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.TB.Logf(format, values...)
	}
}

func (l *untilEnd) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}
