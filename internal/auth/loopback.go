package auth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Without authentication, a web page in a browser on this machine could read through the facade. The host name of the
// page may resolve to a loopback address, so only loopback names are accepted. If the page sends a request to a
// loopback name, the browser states the page's origin in headers.

// IsLocal reports whether a request was sent to a loopback name, and not by a page of another site.
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
