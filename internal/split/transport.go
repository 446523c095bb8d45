package split

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/listfacade/listfacade/internal/frames"
)

const (
	// streamBuffer is the maximum number of bytes that a connection receives for a client that does not read. It bounds
	// the rate of a response. A server may send three quarters of it per round trip: 192 KiB in half a millisecond are
	// 3 Gbit/s.
	streamBuffer = 256 << 10
	// idleTime is shorter than the idle timeout of kube-apiserver and of facades (90 s). Otherwise these servers could
	// close a connection at the moment when a write is sent on it.
	idleTime = 30 * time.Second
	// idleConnections is the maximum number of idle connections to a target. A write without an idle connection costs a
	// handshake.
	idleConnections = 256
	// withoutHTTP2 is the time after which a target that has not offered HTTP/2 is asked again.
	withoutHTTP2 = time.Minute
)

// newTransport returns a transport that sends one request at a time on a connection, with HTTP/1.1. It adds nothing to
// requests: no compression, no proxy, no credentials.
func newTransport(a *authorities) *http.Transport {
	return &http.Transport{
		DialTLSContext: newDialer(a, "http/1.1").dial, DisableCompression: true, IdleConnTimeout: idleTime,
		MaxIdleConnsPerHost: idleConnections, ExpectContinueTimeout: time.Second,
	}
}

// multiplexed is a transport that sends many GETs on a connection, with HTTP/2. While the target does not offer HTTP/2,
// requests use the field one.
type multiplexed struct {
	many, one frames.RoundTripper
	dialer    *dialer                   // of the field many
	without   atomic.Pointer[time.Time] // end of the time without HTTP/2; nil before the first
}

func newMultiplexed(a *authorities, one frames.RoundTripper) (*multiplexed, error) {
	d := newDialer(a, "h2", "http/1.1")
	many, err := newReplaceable(a, func() (frames.RoundTripper, error) { return newHTTP2(d) })
	if err != nil {
		return nil, err
	}
	return &multiplexed{many: many, one: one, dialer: d}, nil
}

func newHTTP2(d *dialer) (frames.RoundTripper, error) {
	return frames.NewTransport(&http.Transport{
		DialTLSContext: hedged(d.dial), DisableCompression: true, IdleConnTimeout: idleTime,
		// The pings detect a server that has disappeared, also while its watches send no events.
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamBuffer, SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second,
		},
	})
}

// RoundTrip implements http.RoundTripper.
func (m *multiplexed) RoundTrip(r *http.Request) (*http.Response, error) {
	if end := m.without.Load(); end != nil && time.Now().Before(*end) {
		return m.one.RoundTrip(r)
	}
	answer, err := m.many.RoundTrip(r)
	if !errors.Is(err, frames.ErrNoHTTP2) {
		return answer, err
	}
	end := time.Now().Add(withoutHTTP2)
	m.without.Store(&end)
	return m.one.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of HTTP/2.
func (m *multiplexed) CloseIdleConnections() { m.many.CloseIdleConnections() }
