package auth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Where callers are not authenticated, a browser on the same machine is the way in for whoever wrote the page that it
// shows: the page may ask by a name of its own that leads to a loopback address, and a request to the right name says
// where it comes from.

// IsLocal tells whether a request was sent to a loopback name, and not by a page of another site.
func IsLocal(r *http.Request) bool {
	if !isLoopback(r.Host) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !isLoopback(u.Host) {
			return false
		}
	}
	return true
}

// isLoopback tells whether a host, with its port or without, is this machine by name or by address.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
