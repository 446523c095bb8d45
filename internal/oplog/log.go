package oplog

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/listfacade/listfacade/internal/observe"
)

const linesPerMinute = 5

// Few returns a log for lines that clients can cause as often as they want. It writes only the first few lines per
// minute with the same level and message.
func Few(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Minute, linesPerMinute, 0)
	}))
}

type requestLog struct {
	observe.Ignore
	log *zap.Logger
}

// NewRequestLog returns an Observer that logs the Event of each request at level debug.
func NewRequestLog(log *zap.Logger) observe.Observer { return requestLog{log: log} }

func (l requestLog) Done(e *observe.Event) {
	entry := l.log.Check(zap.DebugLevel, "Answered request")
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
	entry.Write(append(fields, waits(e.Waits[:])...)...)
}

func waits(all []time.Duration) []zap.Field {
	var fields []zap.Field
	for step, wait := range all {
		if wait > 0 {
			fields = append(fields, zap.Duration(observe.Step(step).String(), wait))
		}
	}
	return fields
}
