package handlers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// socketWatch opens a watch over a websocket. The client closes the connection at the end of the test.
func (f *facade) socketWatch(t *testing.T, accept, query string) (conn io.ReadWriter, code int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test/api/v1/namespaces/ns/configmaps?watch=1&"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		"Origin": {"http://facade.test"}, "Accept": {accept}, userHeader: {"alice"}, "Authorization": {"Bearer x"},
	}
	response, err := f.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	conn, _ = response.Body.(io.ReadWriter)
	return conn, response.StatusCode
}

const (
	textMessage  = 0x81
	closeMessage = 0x88
	pongMessage  = 0x8a
)

// ping is a ping with the maximum of 125 bytes, masked with zeros.
var ping = append([]byte{0x89, 0x80 | 125, 0, 0, 0, 0}, bytes.Repeat([]byte{'p'}, 125)...)

// readMessage reads one message of a server.
func readMessage(t *testing.T, conn io.Reader) (kind byte, content string) {
	t.Helper()
	var begin [2]byte
	if _, err := io.ReadFull(conn, begin[:]); err != nil {
		t.Fatalf("read message: %v", err)
	}
	length := int64(begin[1])
	if length == 126 {
		var long [2]byte
		if _, err := io.ReadFull(conn, long[:]); err != nil {
			t.Fatalf("read message length: %v", err)
		}
		length = int64(binary.BigEndian.Uint16(long[:]))
	}
	text, err := io.ReadAll(io.LimitReader(conn, length))
	if err != nil || int64(len(text)) != length {
		t.Fatalf("read message of %d bytes: got %d, %v", length, len(text), err)
	}
	return begin[0], string(text)
}

// wantStacks returns an error unless the given number of goroutines have one of these functions on their stacks.
func wantStacks(want int, functions ...string) error {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	got := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if slices.ContainsFunc(functions, func(function string) bool { return strings.Contains(stack, function) }) {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("got %d goroutines, want %d", got, want)
	}
	return nil
}

// fickle is an upstream that allows everything or nothing.
type fickle struct{ denies atomic.Bool }

// Post implements auth.Upstream.
func (f *fickle) Post(context.Context, string, []byte) (int, []byte, error) {
	return http.StatusCreated, fmt.Appendf(nil, `{"kind":"SubjectAccessReview","status":{"allowed":%t}}`, !f.denies.Load()), nil
}

// Silent implements auth.Upstream.
func (*fickle) Silent() time.Duration { return 0 }

// Watches whose clients send pings and do not read keep no goroutine, seat or watch authorization after their end. That
// also applies while an event waits behind the response to a ping.
func TestSocketsOfSilentReadersEnd(t *testing.T) {
	const most = 50 // fewer are seen in a write that does not wait
	upstream := &fickle{}
	reviews := auth.NewReviews(auth.ReviewsConfig{Upstream: upstream})
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { defer close(stopped); reviews.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-stopped })
	f := newFacade(t, func(c *Config) {
		c.Authenticator, c.Authorizer, c.Limits = named{}, reviews, Limits{Watches: 2 * most, WatchesPerUser: most}
		c.WriteTimeout = time.Hour // only the end of a watch ends its writes
	})
	f.client = overTCP(t, f.handler)
	f.Put("ns/a", "1")
	for range most {
		if code := f.pingForever(t); code != http.StatusSwitchingProtocols {
			t.Fatalf("got %d, want 101", code)
		}
	}
	testkit.Eventually(t, "clients hold up events", func() error {
		f.Put("ns/a", "2")
		return wantStacks(most, "handlers.(*socketSink).message")
	})
	if code := f.pingForever(t); code != http.StatusTooManyRequests {
		t.Errorf("got %d for one watch too many, want 429", code)
	}
	upstream.denies.Store(true)
	reviews.Lost(auth.Affected{"": func(user.Info) bool { return true }})
	testkit.Eventually(t, "the watches end", func() error {
		return wantStacks(0, "handlers.(*reply)", "handlers.(*Server)", "handlers.(*socketSink)")
	})
	if authorizations, _ := reviews.WatchAuthorizations(); authorizations != 0 {
		t.Errorf("got %d authorizations, want 0", authorizations)
	}
	upstream.denies.Store(false)
	if code := f.pingForever(t); code != http.StatusSwitchingProtocols {
		t.Errorf("got %d for a watch after the others, want 101", code)
	}
}

// pingForever opens a watch whose client sends pings until the connection is closed, and does not read.
func (f *facade) pingForever(t *testing.T) (code int) {
	t.Helper()
	conn, code := f.socketWatch(t, "application/json", "resourceVersion=0")
	if code == http.StatusSwitchingProtocols {
		go func() {
			for many := bytes.Repeat(ping, 100); ; {
				if _, err := conn.Write(many); err != nil {
					return
				}
			}
		}()
	}
	return code
}

// overTCP serves a handler until the test ends, over TCP with small buffers.
func overTCP(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	const buffer = 4 << 10
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ConnState: func(conn net.Conn, state http.ConnState) { //nolint:gosec // only the test can connect
		if state == http.StateNew {
			_ = conn.(*net.TCPConn).SetWriteBuffer(buffer)
		}
	}}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	dialer := &net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		return errors.Join(raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, buffer)
		}), err)
	}}
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, listener.Addr().String())
	}}}
}

// A ping long after an event gets its pong, and the watch continues to its end.
func TestLatePingsGetPongs(t *testing.T) {
	for _, accept := range []string{"application/json", passedThrough} {
		t.Run(accept, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				f.Put("ns/a", "1")
				conn, _ := f.socketWatch(t, accept, "resourceVersion=0&timeoutSeconds=600")
				if kind, content := readMessage(t, conn); kind != textMessage || !strings.Contains(content, "ADDED") {
					t.Fatalf("got %x %s, want an event", kind, content)
				}
				<-time.After(2 * time.Minute) // the write timeout is 30 s
				if _, err := conn.Write(ping); err != nil {
					t.Fatal(err)
				}
				if kind, _ := readMessage(t, conn); kind != pongMessage {
					t.Fatalf("got %x, want a pong", kind)
				}
				<-time.After(2 * time.Minute)
				f.Put("ns/a", "2")
				if kind, content := readMessage(t, conn); kind != textMessage || !strings.Contains(content, "MODIFIED") {
					t.Errorf("got %x %s, want an event", kind, content)
				}
				if kind, _ := readMessage(t, conn); kind != closeMessage {
					t.Errorf("got %x, want the end", kind)
				}
			})
		})
	}
}

// Each write has the write timeout. All writes after the end of the watch have the closing time in total.
func TestTakenOverConnectionsHaveDeadlines(t *testing.T) {
	const timeout = 20 * time.Second
	fails := func(t *testing.T, conn *takenConn, after time.Duration) {
		t.Helper()
		began := time.Now()
		if _, err := conn.Write(ping); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != after {
			t.Errorf("got %v after %s, want a deadline after %s", err, time.Since(began), after)
		}
	}
	for name, test := range map[string]func(*testing.T, *takenConn){
		"each write": func(t *testing.T, conn *takenConn) {
			fails(t, conn, timeout)
			fails(t, conn, timeout)
		},
		"after the end": func(t *testing.T, conn *takenConn) {
			conn.ends()
			<-time.After(time.Second)
			conn.ends()
			fails(t, conn, closingTime-time.Second)
			fails(t, conn, 0)
		},
		"the end during a write": func(t *testing.T, conn *takenConn) {
			time.AfterFunc(10*time.Second, conn.ends)
			fails(t, conn, 10*time.Second+closingTime)
			fails(t, conn, 0)
		},
		"the end shortly before a deadline": func(t *testing.T, conn *takenConn) {
			time.AfterFunc(timeout-time.Second, conn.ends)
			fails(t, conn, timeout)
			fails(t, conn, closingTime-time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer func() { _, _ = client.Close(), server.Close() }()
				test(t, &takenConn{Conn: server, timeout: timeout})
			})
		})
	}
}
