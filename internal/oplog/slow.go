package oplog

import (
	"net"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/listfacade/listfacade/internal/observe"
)

// SlowLimits are the durations above which requests and watches are slow. 0 disables a limit.
type SlowLimits struct {
	// Request limits the duration of a request. For a long-running request, it limits the time until the response begins
	// (--slow-request-threshold).
	Request time.Duration
	// WatchLag limits the lag of a watch behind its lane (--slow-watch-lag).
	WatchLag time.Duration
}

// Rate per second, and burst, of lines about slow requests. If all requests are slow, logging must not make the
// requests slower.
const (
	slowLines      = 5
	slowLinesAtOne = 50
)

// Maximum lengths of a client's texts in a line, in bytes: maxSlowText for a URI or a user agent, and maxSlowName for
// other texts.
const (
	maxSlowText = 2 << 10
	maxSlowName = 256
)

// SlowLog logs slow requests and watches at level info, up to a rate limit. It keeps the last slow requests and watches
// (Recent), also those without a line because of the rate limit.
type SlowLog struct {
	observe.Ignore
	log    *zap.Logger
	limits SlowLimits
	rate   *rate.Limiter
	left   atomic.Int64 // lines omitted since the last written line
	kept   slowRing
}

// NewSlowLog returns an Observer that logs slow requests. After omitted lines, the next line contains their number.
func NewSlowLog(log *zap.Logger, limits SlowLimits) *SlowLog {
	return &SlowLog{log: log, limits: limits, rate: rate.NewLimiter(slowLines, slowLinesAtOne)}
}

// Answering implements Observer. A long-running request is slow if its response takes long to begin.
func (l *SlowLog) Answering(e *observe.Event) {
	if l.isSlow(e.Started) {
		l.write("Slow request", e, e.Started, zap.Duration("took", e.Started))
	}
}

// Lagging implements Observer.
func (l *SlowLog) Lagging(e *observe.Event, by observe.Lag) {
	l.write("Slow watch", e, by.For, zap.Duration("age", time.Since(e.Began)), zap.Duration("behind", by.For),
		zap.Bool("initialEvents", by.Initial),
		zap.Int("objectsSent", by.Sent), zap.Uint64("sentRV", by.SentRV), zap.Uint64("laneNowRV", by.LaneRV))
}

// Done implements Observer.
func (l *SlowLog) Done(e *observe.Event) {
	switch {
	case e.LongRunning && e.Lagged > 0:
		l.write("Slow watch ended", e, e.Lagged, zap.Duration("took", e.Took), zap.Duration("behind", e.Lagged),
			zap.Bool("brokenOff", e.Stalled))
	case !e.LongRunning && l.isSlow(e.Took):
		l.write("Slow request", e, e.Took, zap.Duration("took", e.Took))
	}
}

func (l *SlowLog) isSlow(took time.Duration) bool {
	return l.limits.Request > 0 && took > l.limits.Request
}

func (l *SlowLog) write(message string, e *observe.Event, slowFor time.Duration, first ...zap.Field) {
	l.kept.keep(message, slowFor, e)
	entry := l.log.Check(zap.InfoLevel, message)
	if entry == nil {
		return
	}
	if !l.rate.Allow() {
		l.left.Add(1)
		return
	}
	fields := append(first, slowFields(e)...)
	if left := l.left.Swap(0); left > 0 {
		fields = append(fields, zap.Int64("leftOut", left))
	}
	entry.Write(fields...)
}

func slowFields(e *observe.Event) []zap.Field {
	address, _, err := net.SplitHostPort(e.Client)
	if err != nil {
		address = e.Client
	}
	fields := []zap.Field{
		zap.String("auditID", e.AuditID), shortField("user", e.User, maxSlowName),
		shortField("userAgent", e.UserAgent, maxSlowText), zap.String("srcIP", address),
		shortField("verb", e.Verb, maxSlowName),
		shortField("uri", e.URI, maxSlowText), shortField("group", e.Group, maxSlowName),
		shortField("resource", e.Resource, maxSlowName),
		zap.String("scope", e.Scope), zap.Int("code", e.Code),
		zap.String("rvMode", e.Plan), zap.String("source", string(e.Source)), zap.String("forwardReason", string(e.Reason)),
		zap.Int("objectsScanned", e.Looked), zap.Int("objectsReturned", e.Returned), zap.Int64("bytes", e.RawBytes),
		zap.Int64("wireBytes", e.Bytes), shortField("lane", lane(e), maxSlowName), zap.Uint64("laneRV", e.LaneRV),
		zap.String("check", e.Check),
	}
	return append(fields, zap.Dict("steps", waits(e.Waits[:])...))
}

// lane returns the resource and encoding of the lane that was read; empty if no lane was read.
func lane(e *observe.Event) string {
	if e.Encoding == "" {
		return ""
	}
	if e.Group == "" {
		return e.Resource + " " + e.Encoding
	}
	return e.Resource + "." + e.Group + " " + e.Encoding
}

func shortField(name, text string, most int) zap.Field {
	return zap.String(name, observe.Printable(text, most))
}
