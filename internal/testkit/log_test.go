package testkit

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest"
)

// logged is a test that keeps its lines, and ends when its cleanups are called.
type logged struct {
	testing.TB
	lines    []string
	cleanups []func()
}

// Logf implements testing.TB.
func (l *logged) Logf(format string, values ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, values...))
}

// Cleanup implements testing.TB.
func (l *logged) Cleanup(do func()) { l.cleanups = append(l.cleanups, do) }

func TestLinesAfterTheEndAreDropped(t *testing.T) {
	l := &logged{TB: t}
	log := zaptest.NewLogger(UntilEnd(l))
	log.Info("Before the end")
	for _, cleanup := range l.cleanups {
		cleanup()
	}
	log.Info("After the end")
	if len(l.lines) != 1 || !strings.Contains(l.lines[0], "Before the end") {
		t.Errorf("got the lines %q, want only the line before the end", l.lines)
	}
}
