package handlers

import (
	"context"
	"io"
	"net/http"
	"time"

	"golang.org/x/net/websocket"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

func (o *reply) overSocket(ctx context.Context, stream *watchStream, framing wire.Framing) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if stream.revoked != nil {
		go func() { // stream.run does not check revoked while the client delays an event
			select {
			case <-stream.revoked:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	o.shakeHands(ctx, framing, cancel, func(sink *socketSink) {
		_ = stream.run(ctx, sink) // a client that is gone cannot receive an error
	})
}

// nothing sends an empty response, for a watch that ends before it begins.
func (o *reply) nothing(ctx context.Context, q *Request) error {
	if q.upgrade {
		o.shakeHands(ctx, q.media.encoding.Framing(), func() {}, func(*socketSink) {})
		return nil
	}
	return o.frames(q).begin()
}

// shakeHands opens a websocket and runs talk, which sends frames. gone is called when the client is gone. After the
// context has ended, the client cannot delay talk for longer than closingTime. If the websocket library refuses the
// handshake, the library itself writes the response, and talk is not called.
func (o *reply) shakeHands(ctx context.Context, framing wire.Framing, gone func(), talk func(*socketSink)) {
	taken := &takenConn{timeout: o.timeout}
	o.handConnection(taken, websocket.Server{Handshake: o.checkOrigin, Handler: func(conn *websocket.Conn) {
		defer context.AfterFunc(ctx, taken.ends)()
		received := make(chan struct{})
		go func() {
			defer close(received)
			_, _ = io.Copy(io.Discard, conn) // also responds to pings
			gone()
		}()
		o.answering(http.StatusSwitchingProtocols)
		talk(&socketSink{conn: conn, framing: framing, event: o.event, progress: &o.progress})
		taken.ends()
		_ = conn.Close()
		<-received
	}})
	o.answering(http.StatusBadRequest) // has no effect after another report
}

// forwardSocket sends a plain stream of the upstream as websocket messages, so that no client's connection reaches the
// upstream. If the upstream does not respond with a stream, done is false.
func (s *Server) forwardSocket(ctx context.Context, out *reply, q *Request, as upstream.Credentials,
	read upstream.BodyReader) (done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := s.upstream.Open(q.outgoing(ctx), as) //nolint:bodyclose // the body that read returns closes it
	if err != nil {
		return false, err
	}
	body := read(answer)
	defer body.Close()
	if answer.StatusCode != http.StatusOK {
		return false, nil
	}
	framing := s.resolver.formats.framing(answer.Header.Get("Content-Type"))
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

// message sends a string as a text message, and bytes as a binary message.
func (s *socketSink) message(content any) error {
	now := time.Now()
	defer s.event.Waited(observe.Writing, now)
	s.progress.Writes(now)
	err := websocket.Message.Send(s.conn, content)
	s.progress.Wrote(lengthOf(content))
	return err
}

func lengthOf(content any) int {
	switch content := content.(type) {
	case string:
		return len(content)
	case []byte:
		return len(content)
	}
	return 0
}
