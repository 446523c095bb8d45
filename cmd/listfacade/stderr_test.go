package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// asCommand is the environment variable that makes the test binary run the command.
const asCommand = "LISTFACADE_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

var servingAt = regexp.MustCompile(`https://(127\.0\.0\.1:\d+)`)

// mark is a text in every request of TestClientsCannotFloodStderr.
const mark = "m4rk"

// malformed are URIs about which the facade or its libraries might log.
var malformed = []string{
	"/api/v1/pods?limit=" + mark, "/api/v1/pods?labelSelector=" + mark + "+" + mark, "/api/v1/watch?" + mark, "/api/v1/watch/" + mark,
	"/api/v1/pods?resourceVersion=" + mark, "/api/v1/namespaces/" + mark + "/pods/a%0A" + mark, "/api/v1/namespaces/../pods?x=" + mark,
	"/api/v1/pods?timeout=" + mark, "/apis?" + mark, "/openapi/v3/" + mark, "/readyz?" + mark, "/api/v1/pods?watch=1&fieldSelector=" + mark, "/" + mark,
	"/api/v1/pods?%zz=" + mark + ";",
}

// TestClientsCannotFloodStderr: stderr contains neither the text of clients nor a line for each request. Slow requests
// are not logged here: those lines contain the URI, and on a busy machine every request may be slow.
func TestClientsCannotFloodStderr(t *testing.T) {
	for _, format := range []string{"console", "json"} {
		t.Run(format, func(t *testing.T) {
			began := time.Now()
			address, end := startCommand(t, "--log-format", format, "--slow-request-threshold", "0")
			client := &http.Client{Transport: &http.Transport{
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // the test's own server
			}}
			for i := range settings.Amount(100, 1000) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+malformed[i%len(malformed)], nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header = http.Header{"User-Agent": {mark}, "Accept": {mark}}
				response, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if i%10 == 0 {
					sendPlaintext(t, address)
				}
			}
			client.CloseIdleConnections()
			lines := end()
			// A few lines of each kind are allowed per minute, and on a busy machine the test takes several minutes.
			if minutes := 1 + int(time.Since(began)/time.Minute); len(lines) > 60*minutes {
				t.Errorf("got %d lines in %d minutes, want at most %d", len(lines), minutes, 60*minutes)
			}
			for _, line := range lines {
				if strings.Contains(line, mark) || len(line) > 2000 {
					t.Errorf("got the line %.300s, want none with a client's text or longer than 2000 bytes", line)
				}
			}
		})
	}
}

// sendPlaintext sends an HTTP request without TLS.
func sendPlaintext(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\n\r\n", mark); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // until it is closed
}

// startCommand runs the command with an upstream that cannot be reached. end stops it and returns the lines that it
// wrote to stderr.
func startCommand(t *testing.T, args ...string) (address string, end func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	args = append(args, "--kubeconfig", testkit.WriteInsecureKubeconfig(t, "https://127.0.0.1:1"), "--secure-port", "0", "--cert-dir", t.TempDir(),
		"--shutdown-delay-duration", "0")
	command := exec.CommandContext(ctx, os.Args[0], args...)
	command.Env = append(os.Environ(), asCommand+"=1")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	var reading sync.WaitGroup
	serving := make(chan string, 1)
	reading.Go(func() {
		defer close(serving)
		for text := bufio.NewReader(stderr); ; {
			line, err := text.ReadString('\n')
			if err != nil {
				return
			}
			lines = append(lines, line)
			if found := servingAt.FindStringSubmatch(line); found != nil && strings.Contains(line, "Serving") && len(serving) == 0 {
				serving <- found[1]
			}
		}
	})
	address, ok := <-serving
	if !ok {
		t.Fatalf("the command ended before it served: %s", lines)
	}
	return address, func() []string {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		reading.Wait()
		if err := command.Wait(); err != nil {
			t.Errorf("got %v at the end of the command, want none", err)
		}
		return lines
	}
}
