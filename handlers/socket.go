package handlers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/websocket"
)

// isUpgrade tells a client that wants its watch over a websocket (semantics 4.7).
func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") && strings.Contains(strings.ToLower(r.Header.Get("Connection")), "upgrade")
}

// overSocket runs a watch over a websocket. The handshake wants an Origin, as kube-apiserver's does; what the client sends
// is not read for its meaning, only to learn that it is gone.
func (s *Server) overSocket(ctx context.Context, w http.ResponseWriter, r *http.Request, stream *watchStream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	websocket.Handler(func(conn *websocket.Conn) {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = io.Copy(io.Discard, conn)
			cancel()
		}()
		_ = stream.run(ctx, &socketSink{conn: conn, timeout: s.WriteTimeout}) // nothing can be said to a client that is gone
		_ = conn.Close()
		<-gone
	}).ServeHTTP(w, r)
	return nil
}

// socketSink sends each frame as a text message.
type socketSink struct {
	conn    *websocket.Conn
	timeout time.Duration
}

func (s *socketSink) begin() error { return nil }

func (s *socketSink) send(frames []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	for frame := range bytes.Lines(frames) {
		if err := websocket.Message.Send(s.conn, string(frame)); err != nil {
			return err
		}
	}
	return nil
}
