package handlers

import (
	"context"
	"math/rand/v2"
	"net/http"
)

// drainCheck refuses requests in the last stage of the shutdown. It is the first step, as in kube-apiserver.
type drainCheck struct {
	leaving context.Context // cancelled when the server begins to refuse requests; nil means never
	goaway  float64         // probability of GOAWAY, from 0 to 1
}

// enter refuses a request in the last stage of the shutdown, except for health and metrics. With the probability goaway
// it also asks an HTTP/2 client to reconnect, so that a load balancer can choose another replica. Requests in flight on
// the old connection continue.
func (d *drainCheck) enter(out *reply) error {
	if d.leaving != nil && d.leaving.Err() != nil && !out.isProbe() {
		return errLeft
	}
	if out.isMultiplexed() && d.goaway > 0 && rand.Float64() < d.goaway {
		out.header().Set("Connection", "close") // net/http sends GOAWAY instead, because HTTP/2 has no such header
	}
	return nil
}

// writeLeft writes the text that kube-apiserver sends with --shutdown-send-retry-after. The response is not a Status.
func writeLeft(w http.ResponseWriter) {
	w.Header().Del("Cache-Control")
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "5")
	http.Error(w, "The apiserver is shutting down, please try again later.", http.StatusTooManyRequests)
}
