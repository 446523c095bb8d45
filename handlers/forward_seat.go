package handlers

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// place is a place among the requests that are passed through at a time.
//
// It is left when the upstream has done its work, not when the client has the answer: a slow client refuses nobody.
// kube-apiserver's work is done when the answer is written, so what is small is read into memory at the upstream's own
// pace (buffered_body.go). Of what is larger the rest is read at the client's pace, and the place is left when that has
// made the upstream wait for a second altogether: from then on it is the client who spreads the upstream's work over
// time. The list of a client that is not slow keeps its place to the end.
type forwardSeat struct {
	limiter *limiter
	q       *Request
	cost    cost
	leave   func() // any number of times
}

// heldUp is for how long a client may hold the upstream up in its place.
const heldUp = time.Second

// read is how the upstream's answer is read in a place. It is an upstream.BodyReader.
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
	default: // perhaps a stream of somebody's own: nothing of it is kept back
		return newHeldBody(body, p.leave)
	}
}

// gzipRatio is about how much smaller kube-apiserver's compression makes a list.
const gzipRatio = 8

// countedBody leaves the place when the upstream has written all of it, and remembers how much that was.
type countedBody struct {
	io.ReadCloser
	seat   *forwardSeat
	weight int64 // bytes of the resource for each of the body's; 0 when the body says nothing about its size
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

// noteSize remembers how many bytes all that was asked for has; 0 is not known.
func (p *forwardSeat) noteSize(bytes int64) {
	if bytes > 0 {
		p.limiter.sizes.note(p.q, bytes)
	}
}

// heldBody calls done when whoever reads has held the upstream up for too long.
type heldBody struct {
	io.ReadCloser
	timer *time.Timer
	since time.Time // the upstream waits
	left  time.Duration
}

// newHeldBody counts from now on.
func newHeldBody(body io.ReadCloser, done func()) *heldBody {
	return &heldBody{ReadCloser: body, timer: time.AfterFunc(heldUp, done), since: time.Now(), left: heldUp}
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
