package observe

import (
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// debugFrom is the verbosity of klog from which on the facade's own log is at level debug: what Kubernetes calls
// debugging. Below it, the log is at level info.
const debugFrom = 4

// Volume is how much is logged.
type Volume struct {
	Level zapcore.Level // of the facade's own lines
	// Verbosity is klog's, of the Kubernetes libraries. Their lines are at level debug, whatever it is.
	Verbosity uint32
}

// Level is how much the log says, which can be changed while the process runs. Each change is logged, whatever the
// level is. Safe for concurrent use.
type Level struct {
	atomic    zap.AtomicLevel
	notices   *zap.Logger // of changes
	libraries func(verbosity uint32)

	mu       sync.Mutex
	now      Volume
	standing Volume      // what a change that ends goes back to
	end      *time.Timer // of the change that ends; nil when none does
	changes  int         // so that the end of an earlier change is not the end of this one
}

// NewLevel makes the control of a log at a level. notices is a log of its own, which is never silenced; libraries sets
// the verbosity of the Kubernetes libraries, which is 0 now.
func NewLevel(level zap.AtomicLevel, notices *zap.Logger, libraries func(verbosity uint32)) *Level {
	now := Volume{Level: level.Level()}
	return &Level{atomic: level, notices: notices, libraries: libraries, now: now, standing: now}
}

// Now is how much is logged.
func (l *Level) Now() Volume {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// SetLevel changes the level, for a time or with 0 until the next change. By says who does, for the log.
func (l *Level) SetLevel(by string, to zapcore.Level, lasts time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(by, Volume{Level: to, Verbosity: l.now.Verbosity}, lasts)
}

// SetVerbosity changes the libraries' verbosity, and the level with it, for a time or with 0 until the next change.
func (l *Level) SetVerbosity(by string, to uint32, lasts time.Duration) {
	level := zap.InfoLevel
	if to >= debugFrom {
		level = zap.DebugLevel
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(by, Volume{Level: level, Verbosity: to}, lasts)
}

// Stop ends nothing but the waiting for a change's end.
func (l *Level) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetEnd()
}

func (l *Level) set(by string, to Volume, lasts time.Duration) {
	l.forgetEnd()
	until := zap.Skip()
	if lasts == 0 {
		l.standing = to
	} else {
		change := l.changes
		l.end = time.AfterFunc(lasts, func() { l.endOf(change) })
		until = zap.Duration("for", lasts)
	}
	l.apply(by, to, until)
}

// forgetEnd lets what is set stand: an earlier change does not end any more.
func (l *Level) forgetEnd() {
	l.changes++
	if l.end != nil {
		l.end.Stop()
		l.end = nil
	}
}

// endOf ends a change that no other has come after.
func (l *Level) endOf(change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if change == l.changes {
		l.end = nil
		l.apply("its end", l.standing, zap.Skip())
	}
}

func (l *Level) apply(by string, to Volume, until zap.Field) {
	was := l.now
	l.now = to
	l.atomic.SetLevel(to.Level)
	l.libraries(to.Verbosity)
	l.notices.Warn("the log's level was changed", zap.String("by", by), zap.Stringer("from", was), zap.Stringer("to", to), until)
}

// String is the level and, where it is not 0, the libraries' verbosity.
func (v Volume) String() string {
	if v.Verbosity == 0 {
		return v.Level.String()
	}
	return fmt.Sprintf("%s, libraries at %d", v.Level, v.Verbosity)
}
