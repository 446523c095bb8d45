package main

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// TestForward sends more than the sockets hold, ends its half, and reads the answer that is given only then.
func TestForward(t *testing.T) {
	question := strings.Repeat("0123456789abcdef", 1<<16)
	server := listen(t)
	defer func() { _ = server.Close() }()
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		all, _ := io.ReadAll(conn) // a short read shows in the answer
		_, _ = io.WriteString(conn, strings.ToUpper(string(all)))
	}()
	ctx, cancel := context.WithCancel(t.Context())
	way := listen(t)
	done := make(chan error, 1)
	go func() { done <- forward(ctx, way, server.Addr().String()) }()

	conn, err := net.Dial("tcp", way.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, question); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || string(answer) != strings.ToUpper(question) {
		t.Errorf("the answer has %d bytes, want %d (%v)", len(answer), len(question), err)
	}
	idle, err := net.Dial("tcp", way.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = idle.Close() }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("forward ended with %v", err)
	}
}
