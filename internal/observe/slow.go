package observe

import (
	"net"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
)

// SlowLimits say what is slow. 0 says that nothing is.
type SlowLimits struct {
	// Request is how long a request may take, and how long one that runs long may take to begin: --slow-request-threshold.
	Request time.Duration
	// WatchLag is how long a watch may be behind its lane: --slow-watch-lag.
	WatchLag time.Duration
}

// How many lines about what is slow are written: so many in a second, and so many at once. Whoever reads them wants to
// see one of each kind, and when everything is slow, writing must not be what makes it slower.
const (
	slowLines      = 5
	slowLinesAtOne = 50
)

// maxSlowText is how many bytes of a URI and a user agent a line has at most, and maxSlowName of what else a client
// sends.
const (
	maxSlowText = 2 << 10
	maxSlowName = 256
)

// SlowLog writes a line for each request that is slow, at level info, and keeps the last of them (Recent), those too
// that no line was written for.
type SlowLog struct {
	log    *zap.Logger
	limits SlowLimits
	rate   *rate.Limiter
	left   atomic.Int64 // lines that were left out since the last
	kept   slowRing
}

// NewSlowLog makes a Follower that writes what an Event says about a request that is slow. Of many lines some are left
// out; the next that is written says how many.
func NewSlowLog(log *zap.Logger, limits SlowLimits) *SlowLog {
	return &SlowLog{log: log, limits: limits, rate: rate.NewLimiter(slowLines, slowLinesAtOne)}
}

// Received implements Follower.
func (*SlowLog) Received(*Event) error { return nil }

// Answering implements Follower: of what runs long, the way to its beginning is what may be slow.
func (l *SlowLog) Answering(e *Event) {
	if l.isSlow(e.Started) {
		l.write("slow request", e, e.Started, zap.Duration("took", e.Started))
	}
}

// Lagging implements Follower.
func (l *SlowLog) Lagging(e *Event, by Lag) {
	l.write("slow watch", e, by.For, zap.Duration("age", time.Since(e.Began)), zap.Duration("behind", by.For), zap.Bool("initialEvents", by.Initial),
		zap.Int("objectsSent", by.Sent), zap.Uint64("sentRV", by.SentRV), zap.Uint64("laneNowRV", by.LaneRV))
}

// Done implements Sink.
func (l *SlowLog) Done(e *Event) {
	switch {
	case e.LongRunning && e.Lagged > 0:
		l.write("slow watch ended", e, e.Lagged, zap.Duration("took", e.Took), zap.Duration("behind", e.Lagged), zap.Bool("brokenOff", e.Stalled))
	case !e.LongRunning && l.isSlow(e.Took):
		l.write("slow request", e, e.Took, zap.Duration("took", e.Took))
	}
}

func (l *SlowLog) isSlow(took time.Duration) bool {
	return l.limits.Request > 0 && took > l.limits.Request
}

// write keeps what was slow for so long, and writes a line or counts one that is left out.
func (l *SlowLog) write(message string, e *Event, slowFor time.Duration, first ...zap.Field) {
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

// slowFields are what is asked first when something was slow: who asked for what, who answered, why, and what it cost.
func slowFields(e *Event) []zap.Field {
	address, _, err := net.SplitHostPort(e.Client)
	if err != nil {
		address = e.Client
	}
	fields := []zap.Field{
		zap.String("auditID", e.AuditID), shortField("user", e.User, maxSlowName),
		shortField("userAgent", e.UserAgent, maxSlowText), zap.String("srcIP", address), shortField("verb", e.Verb, maxSlowName),
		shortField("uri", e.URI, maxSlowText), shortField("group", e.Group, maxSlowName), shortField("resource", e.Resource, maxSlowName),
		zap.String("scope", e.Scope), zap.Int("code", e.Code),
		zap.String("rvMode", e.Plan), zap.String("source", string(e.Source)), zap.String("forwardReason", string(e.Reason)),
		zap.Int("objectsScanned", e.Looked), zap.Int("objectsReturned", e.Returned), zap.Int64("bytes", e.RawBytes),
		zap.Int64("wireBytes", e.Bytes), shortField("lane", lane(e), maxSlowName), zap.Uint64("laneRV", e.LaneRV), zap.String("proof", e.Check),
	}
	return append(fields, zap.Dict("steps", waits(&e.Waits)...))
}

// lane names the lane that was read: its resource and its encoding.
func lane(e *Event) string {
	if e.Encoding == "" {
		return ""
	}
	if e.Group == "" {
		return e.Resource + " " + e.Encoding
	}
	return e.Resource + "." + e.Group + " " + e.Encoding
}

// shortField is a field with a text of a client's.
func shortField(name, text string, most int) zap.Field {
	return zap.String(name, Printable(text, most))
}
