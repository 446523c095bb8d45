package observe

import (
	"net/http"
	"time"

	"go.uber.org/zap"
)

// UpstreamLog writes a line when the upstream does not answer the facade as it should, a few a minute about each of the
// things that it is asked for. Safe for concurrent use.
type UpstreamLog struct{ log *zap.Logger }

// NewUpstreamLog makes one that writes warnings.
func NewUpstreamLog(log *zap.Logger) UpstreamLog { return UpstreamLog{log: Few(log)} }

// passedThrough is what is asked in the names of clients, with their credentials.
const passedThrough = "passthrough"

// Asked is told of a request to the upstream, as Metrics is.
func (l UpstreamLog) Asked(request string, code int, took time.Duration) {
	said := ""
	switch {
	case code == 0:
		said = "the upstream gives no answer: "
	case code == http.StatusTooManyRequests:
		said = "the upstream sends the facade away with 429: "
	case code == http.StatusUnauthorized && request != passedThrough:
		said = "the upstream does not accept the facade's credentials: "
	default:
		return
	}
	l.log.Warn(said+request, zap.Duration("took", took))
}
