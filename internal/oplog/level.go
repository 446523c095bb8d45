package oplog

import (
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// debugFrom is the lowest klog verbosity at which the facade's own log is at level debug, as in Kubernetes'
// conventions. At a lower verbosity, the log is at level info.
const debugFrom = 4

// Volume is the amount of logging.
type Volume struct {
	Level zapcore.Level // lowest level of the facade's log
	// Verbosity is the klog verbosity of the Kubernetes libraries. The lines of these libraries always have level debug.
	Verbosity uint32
}

// Level controls the amount of logging at run time. Each change is logged at every level. Safe for concurrent use.
type Level struct {
	atomic    zap.AtomicLevel
	notices   *zap.Logger // logs the changes
	libraries func(verbosity uint32)

	mu       sync.Mutex
	now      Volume
	standing Volume      // the volume after a temporary change has expired
	end      *time.Timer // of a temporary change; nil if there is none
	changes  int         // number of changes; a timer has no effect after a later change
}

// NewLevel returns a Level that controls the given level. notices must log at every level. libraries sets the klog
// verbosity of the Kubernetes libraries. When NewLevel is called, the verbosity must be 0.
func NewLevel(level zap.AtomicLevel, notices *zap.Logger, libraries func(verbosity uint32)) *Level {
	now := Volume{Level: level.Level()}
	return &Level{atomic: level, notices: notices, libraries: libraries, now: now, standing: now}
}

// Now returns the current volume.
func (l *Level) Now() Volume {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// SetLevel changes the level for a duration, or permanently if the duration is 0. The argument by
// is the caller's name in the log.
func (l *Level) SetLevel(by string, to zapcore.Level, lasts time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(by, Volume{Level: to, Verbosity: l.now.Verbosity}, lasts)
}

// SetVerbosity changes the libraries' verbosity and the level for a duration, or permanently if the duration is 0. The
// argument by is the caller's name in the log.
func (l *Level) SetVerbosity(by string, to uint32, lasts time.Duration) {
	level := zap.InfoLevel
	if to >= debugFrom {
		level = zap.DebugLevel
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(by, Volume{Level: level, Verbosity: to}, lasts)
}

// Stop stops the timer of a temporary change. The volume stays as it is.
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

func (l *Level) forgetEnd() {
	l.changes++
	if l.end != nil {
		l.end.Stop()
		l.end = nil
	}
}

// endOf ends a temporary change, unless another change followed.
func (l *Level) endOf(change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if change == l.changes {
		l.end = nil
		l.apply("expiry", l.standing, zap.Skip())
	}
}

func (l *Level) apply(by string, to Volume, until zap.Field) {
	before := l.now
	l.now = to
	l.atomic.SetLevel(to.Level)
	l.libraries(to.Verbosity)
	l.notices.Warn("Changed log level", zap.String("by", by), zap.Stringer("from", before), zap.Stringer("to", to), until)
}

func (v Volume) String() string {
	if v.Verbosity == 0 {
		return v.Level.String()
	}
	return fmt.Sprintf("%s, libraries at %d", v.Level, v.Verbosity)
}
