package abuse

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const silent = 500 // connections without a request

// gone waits until the facade closes a connection, and discards what it sends before.
func gone(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(suite.Patience)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, conn)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errors.New("the connection stays open")
	}
	return nil
}

// hello returns a TLS ClientHello.
func hello(t *testing.T) []byte {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: "facade", MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
	}()
	record := make([]byte, 4<<10)
	n, err := server.Read(record)
	if err != nil {
		t.Fatal(err)
	}
	return record[:n]
}

// A connection whose client does not complete a request is closed, whatever the client has sent. Other callers are
// served meanwhile.
func TestConnectionsWithoutCompleteRequestAreClosed(t *testing.T) {
	s := newSite(t)
	other := s.reader(t, "other")
	connections := served()
	begun := hello(t)
	var open []net.Conn
	for i := range silent {
		conn := dialTCP(t, s.facade.URL)
		switch i % 5 {
		case 3:
			say(t, conn, string(begun[:len(begun)/2]))
		case 4:
			say(t, conn, string(begun))
		}
		open = append(open, conn)
	}
	for range 20 {
		open = append(open, s.admin.dial(t, "http/1.1"), s.admin.dial(t, "h2"))
		half := s.admin.dial(t, "http/1.1")
		say(t, half, "GET /api HTTP/1.1\r\nHost: facade\r\n")
		open = append(open, half)
	}
	drips := s.admin.dial(t, "http/1.1")
	say(t, drips, "GET /api HTTP/1.1\r\nX-Slow: ")
	var waiting sync.WaitGroup
	waiting.Go(func() { drip(drips) })
	for i, conn := range append(open, drips) {
		waiting.Go(func() {
			if err := gone(conn); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	for range 10 {
		other.served(t, s.configMaps())
	}
	fresh := other.newClient(t, nil) // the facade still accepts
	if got := read(t, other.open(t, fresh, s.configMaps())); got.code != http.StatusOK {
		t.Errorf("%d: %s", got.code, got.body)
	}
	fresh.CloseIdleConnections()
	waiting.Wait()
	calm(t, 1, connections)
}

// drip sends a byte every half second until the facade closes the connection.
func drip(conn net.Conn) {
	for tick := time.NewTicker(500 * time.Millisecond); ; <-tick.C {
		if _, err := io.WriteString(conn, "x"); err != nil {
			tick.Stop()
			return
		}
	}
}

func say(t *testing.T, conn net.Conn, what string) {
	t.Helper()
	if _, err := io.WriteString(conn, what); err != nil {
		t.Fatal(err)
	}
}

// A client that does not read its list or watch is cut off after --write-timeout.
func TestClientsThatDoNotReadAreCutOff(t *testing.T) {
	settings.Long(t)
	s := newSite(t, func(c *facade.Config) { c.WriteTimeout = 5 * time.Second })
	s.fill(t)
	other := s.reader(t, "other")
	watch := s.configMaps() + "?watch=1&resourceVersion=0&timeoutSeconds=600"
	handlers, connections := requests(), served()
	deaf := s.reader(t, "deaf")
	var open []net.Conn
	for range 15 {
		for _, path := range []string{s.configMaps(), watch} {
			conn := deaf.dial(t, "http/1.1")
			say(t, conn, "GET "+path+" HTTP/1.1\r\nHost: facade\r\n\r\n")
			stream := deaf.speak(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			stream.ask(t, 1, path, true)
			open = append(open, conn, stream.conn)
		}
	}
	for i := range 5 {
		s.Put(t, suite.ConfigMaps, "written", "", strconv.Itoa(i))
		if got := other.get(t, s.configMaps()+"/written"); got.code != http.StatusOK || !strings.Contains(string(got.body), fmt.Sprintf(`"%d"`, i)) {
			t.Errorf("the other caller: got %d, want 200 with the last change: %s", got.code, got.body)
		}
	}
	deaf.client.CloseIdleConnections()
	// HTTP/2 connections stay open, as their clients may send further requests.
	calm(t, handlers, connections+len(open)/2)
	for _, conn := range open {
		_ = conn.Close()
	}
	calm(t, handlers, connections)
}
