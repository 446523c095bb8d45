package handlers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// overSocket runs a watch over a websocket. What the client sends is not read for its meaning, only to learn that it is
// gone.
func (o *reply) overSocket(ctx context.Context, stream *watchStream, framing wire.Framing) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if stream.revoked != nil {
		go func() { // the stream does not look while its client holds up an event
			select {
			case <-stream.revoked:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	o.shakeHands(ctx, framing, cancel, func(sink *socketSink) {
		_ = stream.run(ctx, sink) // nothing can be said to a client that is gone
	})
}

// nothing answers with a watch that tells nothing and ends.
func (o *reply) nothing(ctx context.Context, q *Request, encoding wire.Encoding) error {
	if q.upgrade {
		o.shakeHands(ctx, encoding.Framing(), func() {}, func(*socketSink) {})
		return nil
	}
	return o.frames(q, encoding).begin()
}

// shakeHands opens a websocket and lets talk send frames until it returns, which the client cannot hold up for longer
// than the closing time once the context has ended; gone is called when the client is. What the websocket's library
// refuses it answers itself, and tells nobody.
func (o *reply) shakeHands(ctx context.Context, framing wire.Framing, gone func(), talk func(*socketSink)) {
	taken := &takenConn{timeout: o.timeout}
	o.handConnection(taken, websocket.Server{Handshake: o.checkOrigin, Handler: func(conn *websocket.Conn) {
		defer context.AfterFunc(ctx, taken.ends)()
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			_, _ = io.Copy(io.Discard, conn) // which answers pings
			gone()
		}()
		o.answering(http.StatusSwitchingProtocols)
		talk(&socketSink{conn: conn, framing: framing, event: o.event, progress: &o.progress})
		taken.ends()
		_ = conn.Close()
		<-heard
	}})
	o.answering(http.StatusBadRequest) // unless something else was answered
}

// forwardSocket lets the upstream answer a watch over a websocket: it is asked for a plain stream, which is then sent
// in messages, so that no connection of a client's reaches through to the upstream. It is not done when the upstream
// has something else to say.
func (s *Server) forwardSocket(ctx context.Context, out *reply, q *Request, as upstream.Credentials, read upstream.BodyReader) (done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := s.upstream.Open(q.outgoing(ctx), as) //nolint:bodyclose // what read makes of the body closes it
	if err != nil {
		return false, err
	}
	body := read(answer)
	defer body.Close()
	if answer.StatusCode != http.StatusOK {
		return false, nil
	}
	framing := wire.Framing(wire.Lines{})
	if strings.HasPrefix(answer.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		framing = wire.Prefixed{}
	}
	frames := framing.Reader(body, wire.FrameLimit)
	out.shakeHands(ctx, framing, cancel, func(sink *socketSink) {
		for {
			frame, err := frames.Next()
			if err != nil || sink.message(framing.Message(frame)) != nil {
				return
			}
		}
	})
	return true, nil
}

// socketSink sends each frame as a message.
type socketSink struct {
	conn    *websocket.Conn
	framing wire.Framing
	event   *observe.Event

	progress *observe.Progress
}

func (s *socketSink) begin() error { return nil }

func (s *socketSink) settle() error { return nil }

func (s *socketSink) send(frames []byte) error {
	for message := range s.framing.Messages(frames) {
		if err := s.message(message); err != nil {
			return err
		}
	}
	return nil
}

// message sends a string as text, bytes as they are.
func (s *socketSink) message(content any) error {
	now := time.Now()
	defer s.event.Waited(observe.Writing, now)
	s.progress.Writes(now)
	err := websocket.Message.Send(s.conn, content)
	s.progress.Wrote(lengthOf(content))
	return err
}

// lengthOf is how many bytes a message has.
func lengthOf(content any) int {
	switch content := content.(type) {
	case string:
		return len(content)
	case []byte:
		return len(content)
	}
	return 0
}
