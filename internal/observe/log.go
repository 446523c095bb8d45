package observe

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// linesPerMinute is how many lines of a kind Few lets through in a minute.
const linesPerMinute = 5

// Few is a log for what clients can bring about as often as they like: of the lines that say the same, but for their
// fields, it writes the first few of each minute.
func Few(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Minute, linesPerMinute, 0)
	}))
}

// requestLog writes a line for each request, at level debug.
type requestLog struct{ log *zap.Logger }

// NewRequestLog makes a sink that writes all that an Event says into the log, at level debug.
func NewRequestLog(log *zap.Logger) Sink { return requestLog{log: log} }

// Done implements Sink.
func (l requestLog) Done(e *Event) {
	entry := l.log.Check(zap.DebugLevel, "answered")
	if entry == nil {
		return
	}
	fields := []zap.Field{
		zap.String("auditID", e.AuditID), zap.String("client", e.Client), zap.String("userAgent", e.UserAgent),
		zap.String("user", e.User), zap.String("method", e.Method), zap.String("uri", e.URI), zap.String("verb", e.Verb),
		zap.String("group", e.Group), zap.String("resource", e.Resource), zap.String("scope", e.Scope),
		zap.String("namespace", e.Namespace), zap.String("name", e.Name), zap.String("plan", e.Plan),
		zap.String("source", string(e.Source)), zap.String("reason", string(e.Reason)), zap.Int("looked", e.Looked),
		zap.Int("returned", e.Returned), zap.Int("code", e.Code), zap.Int64("bytes", e.Bytes), zap.Duration("took", e.Took),
	}
	entry.Write(append(fields, waits(&e.Waits)...)...)
}

// waits names the steps at which the request waited at all.
func waits(all *[steps]time.Duration) []zap.Field {
	var fields []zap.Field
	for step, wait := range all {
		if wait > 0 {
			fields = append(fields, zap.Duration(Step(step).String(), wait))
		}
	}
	return fields
}
