package handlers

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// forwardSeat is a seat among the requests that are forwarded at the same time.
//
// It is released when the upstream's work ends, not when the client has the response. A slow client thus does not block
// other requests. kube-apiserver's work ends when it has written its response. The first bytes are therefore read into
// memory as fast as the upstream sends them (buffered_body.go). The rest is read at the client's speed. The seat is
// released after the client has made the upstream wait for a second in total. A list whose client is not slow keeps its
// seat to the end.
type forwardSeat struct {
	limiter *limiter
	q       *Request
	cost    cost
	leave   func() // may be called more than once
}

// maxUpstreamWait is how long, in total, a client may make the upstream wait before its seat is released.
const maxUpstreamWait = time.Second

// read is an upstream.BodyReader. It returns the body for the client. This body releases the seat.
func (p *forwardSeat) read(answer *http.Response) io.ReadCloser {
	body := &countedBody{ReadCloser: answer.Body, seat: p}
	if p.cost == large && p.q.method == http.MethodGet && answer.StatusCode == http.StatusOK {
		body.weight = 1
		if answer.Header.Get("Content-Encoding") == "gzip" {
			body.weight = gzipRatio
		}
	}
	switch {
	case p.cost == free:
		return answer.Body
	case p.q.isWatch():
		return newInitialBody(body)
	case isRead(p.q.info):
		return newHeldBody(newBufferedBody(body, p.limiter.buffered), p.leave)
	default: // it may be a stream of another API: no byte is held back
		return newHeldBody(body, p.leave)
	}
}

// gzipRatio is the approximate size of a list of kube-apiserver divided by its compressed size.
const gzipRatio = 8

// countedBody counts bytes. At the end of the body it releases the seat and stores the size of the resource.
type countedBody struct {
	io.ReadCloser
	seat   *forwardSeat
	weight int64 // bytes of the resource for each byte of the body; 0 if the size is not stored
	bytes  atomic.Int64
}

// Read implements io.Reader.
func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	if err != nil {
		c.seat.leave()
	}
	if err == io.EOF {
		c.seat.noteSize(c.weight * c.bytes.Load())
	}
	return n, err
}

// noteSize stores the size in bytes of the requested resource; 0 means that it is not known.
func (p *forwardSeat) noteSize(bytes int64) {
	if bytes > 0 {
		p.limiter.sizes.note(p.q, bytes)
	}
}

// heldBody calls done when its reader has made the upstream wait for too long.
type heldBody struct {
	io.ReadCloser
	timer *time.Timer
	since time.Time     // start of the upstream's current wait
	left  time.Duration // rest of maxUpstreamWait
}

// newHeldBody starts to measure immediately.
func newHeldBody(body io.ReadCloser, done func()) *heldBody {
	return &heldBody{ReadCloser: body, timer: time.AfterFunc(maxUpstreamWait, done), since: time.Now(),
		left: maxUpstreamWait}
}

// Read implements io.Reader.
func (b *heldBody) Read(p []byte) (int, error) {
	b.timer.Stop()
	b.left -= time.Since(b.since)
	n, err := b.ReadCloser.Read(p)
	if b.since = time.Now(); b.left > 0 && err == nil {
		b.timer.Reset(b.left)
	}
	return n, err
}

// Close implements io.Closer.
func (b *heldBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}
