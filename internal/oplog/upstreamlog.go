package oplog

import (
	"net/http"
	"time"

	"go.uber.org/zap"
)

// UpstreamLog logs requests to the upstream that got no response or 429. It also logs the facade's own requests that
// got 401. It logs a few lines per minute for each kind of failure and request. Safe for concurrent use.
type UpstreamLog struct{ log *zap.Logger }

// NewUpstreamLog returns an UpstreamLog that logs warnings.
func NewUpstreamLog(log *zap.Logger) UpstreamLog { return UpstreamLog{log: Few(log)} }

// passedThrough is the kind of requests that are forwarded with a client's credentials.
const passedThrough = "passthrough"

// Asked logs a request that failed. code is 0 if there was no response. took is the time until the response began.
func (l UpstreamLog) Asked(request string, code int, took time.Duration) {
	message := ""
	switch {
	case code == 0:
		message = "No response from the upstream: "
	case code == http.StatusTooManyRequests:
		message = "Throttled by the upstream with 429: "
	case code == http.StatusUnauthorized && request != passedThrough:
		message = "Refused by the upstream with 401: "
	default:
		return
	}
	l.log.Warn(message+request, zap.Duration("took", took)) // Few limits lines by message, which contains the kind
}
