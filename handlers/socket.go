package handlers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/wire"
)

// overSocket runs a watch over a websocket. The handshake wants an Origin, as kube-apiserver's does; what the client
// sends is not read for its meaning, only to learn that it is gone.
func (o *reply) overSocket(ctx context.Context, stream *watchStream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.shakeHands(cancel, func(sink *socketSink) {
		_ = stream.run(ctx, sink) // nothing can be said to a client that is gone
	})
}

// shakeHands opens a websocket and lets talk send until it returns; gone is called when the client is.
func (o *reply) shakeHands(gone func(), talk func(*socketSink)) {
	o.hand(websocket.Handler(func(conn *websocket.Conn) {
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			_, _ = io.Copy(io.Discard, conn)
			gone()
		}()
		talk(&socketSink{conn: conn, timeout: o.timeout})
		_ = conn.Close()
		<-heard
	}))
}

// forwardSocket lets the upstream answer a watch over a websocket: it is asked for a plain stream, which is then sent
// in messages, so that no connection of a client's reaches through to the upstream. It is not done when the upstream
// has something else to say.
func (s *Server) forwardSocket(ctx context.Context, out *reply, q *Request) (done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := s.upstream.Open(q.outgoing(ctx))
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return false, nil
	}
	next := lines(answer.Body)
	if strings.HasPrefix(answer.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		next = prefixed(answer.Body)
	}
	out.shakeHands(cancel, func(sink *socketSink) {
		for {
			message, err := next()
			if err != nil || sink.message(message) != nil {
				return
			}
		}
	})
	return true, nil
}

// frameLimit bounds a frame of the upstream's in bytes; etcd holds at most 1.5 MB of an object.
const frameLimit = 64 << 20

// lines gives the frames of a stream in JSON, each with its newline; they are text.
func lines(body io.Reader) func() (any, error) {
	frames := wire.NewFrameReader(body, frameLimit)
	return func() (any, error) {
		line, err := frames.Next()
		return string(line) + "\n", err
	}
}

// prefixed gives the frames of a stream in protobuf, without the length that stands before each (semantics 4.6, 4.7).
func prefixed(body io.Reader) func() (any, error) {
	frames := bufio.NewReader(body)
	return func() (any, error) {
		var length uint32
		if err := binary.Read(frames, binary.BigEndian, &length); err != nil {
			return nil, err
		}
		if length > frameLimit {
			return nil, &wire.FrameTooLargeError{Limit: frameLimit}
		}
		frame := make([]byte, length)
		_, err := io.ReadFull(frames, frame)
		return frame, err
	}
}

// socketSink sends each frame as a text message.
type socketSink struct {
	conn    *websocket.Conn
	timeout time.Duration
}

func (s *socketSink) begin() error { return nil }

func (s *socketSink) send(frames []byte) error {
	for frame := range bytes.Lines(frames) {
		if err := s.message(string(frame)); err != nil {
			return err
		}
	}
	return nil
}

// message sends a string as text, bytes as they are.
func (s *socketSink) message(content any) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	return websocket.Message.Send(s.conn, content)
}
