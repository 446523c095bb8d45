package testkit

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"

	"golang.org/x/net/websocket"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// openSocket opens a watch over a websocket. A refused handshake is a recording with code 0 that ends with the refusal.
func (a *Asker) openSocket(ctx context.Context, q Question) (Recording, io.ReadCloser, error) {
	rec := Recording{Question: q, Code: http.StatusSwitchingProtocols}
	config, err := websocket.NewConfig("wss"+strings.TrimPrefix(a.base, "https")+q.Path, a.base)
	if err != nil {
		return rec, nil, err
	}
	config.TlsConfig = a.tls
	config.Header = q.Header.Clone()
	config.Header.Del("Upgrade")
	dialing, stop := context.WithTimeout(ctx, settings.Patience()) // the context of the stream has no deadline
	defer stop()
	conn, err := config.DialContext(dialing)
	if err != nil {
		rec.Code = 0
		var refused *websocket.DialError
		if errors.As(err, &refused) {
			err = refused.Err // without the address
		}
		return rec, refusal{err}, nil
	}
	socket := &socket{Conn: conn}
	socket.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return rec, socket, nil
}

type refusal struct{ err error }

func (r refusal) Read([]byte) (int, error) { return 0, r.err }

func (refusal) Close() error { return nil }

// socket is a websocket that is read like a stream: protobuf messages get a length prefix. It is closed when the
// recorder's context ends.
type socket struct {
	*websocket.Conn
	stop func() bool
	rest []byte // rest of a message
}

func (s *socket) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		var message []byte
		if err := websocket.Message.Receive(s.Conn, &message); err != nil {
			return 0, err
		}
		if isProtobufFrame(message) {
			message = append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...) // a message is small
		}
		s.rest = message
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *socket) Close() error {
	s.stop()
	return s.Conn.Close()
}
