package handlers

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// forwardSeat is the seat of a forwarded request.
//
// It is released when the upstream's work ends, not when the client has the response, so that a slow client does not
// block other requests. kube-apiserver's work ends when it has written its response. Therefore the first bytes are read
// into memory as fast as the upstream sends them (buffered_body.go), and the rest at the client's speed. When the
// client has made the upstream wait for a second in total, the seat is released.
type forwardSeat struct {
	limiter *limiter
	q       *Request
	cost    cost
	leave   func() // may be called more than once
}

// maxUpstreamWait is how long, in total, a client may make the upstream wait before the seat is released.
const maxUpstreamWait = time.Second

// read is an upstream.BodyReader. The returned body is for the client, and releases the seat.
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
	default: // the body may be a stream of another API, so no byte is buffered
		return newHeldBody(body, p.leave)
	}
}

// gzipRatio is the approximate ratio of the size of kube-apiserver's lists to their compressed size.
const gzipRatio = 8

// countedBody counts its bytes. At the end, it releases the seat and stores the size of the resource.
type countedBody struct {
	io.ReadCloser
	seat   *forwardSeat
	weight int64 // bytes of the resource per byte of the body; 0 if the size is not to be stored
	bytes  atomic.Int64
}

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

func (p *forwardSeat) noteSize(bytes int64) {
	if bytes > 0 {
		p.limiter.sizes.note(p.q, bytes)
	}
}

// heldBody calls done when its reader has made the upstream wait for maxUpstreamWait.
type heldBody struct {
	io.ReadCloser
	timer *time.Timer
	since time.Time     // start of the upstream's current wait
	left  time.Duration // rest of maxUpstreamWait
}

func newHeldBody(body io.ReadCloser, done func()) *heldBody {
	return &heldBody{ReadCloser: body, timer: time.AfterFunc(maxUpstreamWait, done), since: time.Now(),
		left: maxUpstreamWait}
}

func (b *heldBody) Read(p []byte) (int, error) {
	b.timer.Stop()
	b.left -= time.Since(b.since)
	n, err := b.ReadCloser.Read(p)
	if b.since = time.Now(); b.left > 0 && err == nil {
		b.timer.Reset(b.left)
	}
	return n, err
}

func (b *heldBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}
