package handlers

import (
	"context"
	"math/rand/v2"
	"net/http"
)

// door is what a request passes before anything is known of it, as in kube-apiserver.
type drainCheck struct {
	leaving context.Context // ends when requests are refused; nil: never
	goaway  float64         // how likely a connection is given up, from 0 to 1
}

// enter refuses requests of a server that has shut down, and by chance asks an HTTP/2 client to come back on another
// connection, which a load balancer may lead to another replica. What the connection has under way goes on.
func (d *drainCheck) enter(out *reply) error {
	if d.leaving != nil && d.leaving.Err() != nil && !out.isProbe() {
		return errLeft
	}
	if out.isMultiplexed() && d.goaway > 0 && rand.Float64() < d.goaway {
		out.header().Set("Connection", "close") // GOAWAY in HTTP/2, which has no such header
	}
	return nil
}

// writeLeft is kube-apiserver's answer with --shutdown-send-retry-after: text, and no Status.
func writeLeft(w http.ResponseWriter) {
	w.Header().Del("Cache-Control")
	w.Header().Set("Connection", "close")
	w.Header().Set("Retry-After", "5")
	http.Error(w, "The apiserver is shutting down, please try again later.", http.StatusTooManyRequests)
}
