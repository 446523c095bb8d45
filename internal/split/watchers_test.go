package split

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/frames"
)

const (
	// watchersOf is the environment variable that makes this program the other process of BenchmarkEvents.
	watchersOf = "LISTFACADE_SPLIT_WATCHERS"
	watchers   = 64
)

// runWatchers runs a facade, and clients with a connection each. It prints the facade's URL, and reads a line with the
// URL of the proxy and the size of an event in bytes. Then it prints a duration for each line that it reads: for
// "event", the time until each client has received an event, and otherwise the CPU time of this process.
func runWatchers(in io.Reader, out io.Writer) error {
	source := &source{changed: make(chan struct{})}
	server, err := source.start()
	if err != nil {
		return err
	}
	defer server.Close()
	defer server.CloseClientConnections()
	_, _ = fmt.Fprintln(out, server.URL)
	lines := bufio.NewScanner(in)
	var url string
	var size int
	if lines.Scan(); lines.Err() == nil {
		_, err = fmt.Sscan(lines.Text(), &url, &size)
	}
	if err != nil {
		return err
	}
	arrived := make(chan error, watchers)
	for range watchers {
		go func() { arrived <- watch(url, size, arrived) }()
	}
	if err := all(arrived); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "watching")
	event := append(bytes.Repeat([]byte("x"), size-1), '\n')
	for lines.Scan() {
		if lines.Text() != "event" {
			_, _ = fmt.Fprintln(out, spent())
			continue
		}
		sent := time.Now()
		source.send(event)
		if err := all(arrived); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(out, time.Since(sent))
	}
	return lines.Err()
}

// all waits for a value of each client.
func all(arrived <-chan error) error {
	for range watchers {
		if err := <-arrived; err != nil {
			return err
		}
	}
	return nil
}

// watch sends nil to arrived at the beginning and after each event, and returns why it ended.
func watch(url string, size int, arrived chan<- error) error {
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableCompression: true, //nolint:gosec // the benchmark's own server
	}}
	answer, err := client.Get(url + "/api/v1/pods?watch=1") //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		return fmt.Errorf("got %s over %s, want 200 over HTTP/2", answer.Status, answer.Proto)
	}
	event := make([]byte, size)
	for err == nil {
		arrived <- nil
		_, err = io.ReadFull(answer.Body, event)
	}
	return fmt.Errorf("watch: %w", err)
}

// source is a facade that answers each request with the same events.
type source struct {
	mu      sync.Mutex // guards the fields below
	event   []byte     // the last one
	changed chan struct{}
}

func (s *source) send(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.event = event
	close(s.changed)
	s.changed = make(chan struct{})
}

// last returns the last event, and a channel that is closed after the next one.
func (s *source) last() ([]byte, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.event, s.changed
}

// ServeHTTP implements http.Handler.
func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		return
	}
	_, changed := s.last()
	for event := []byte(nil); ; {
		_, _ = w.Write(event)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
			event, changed = s.last()
		case <-r.Context().Done():
			return
		}
	}
}

// start starts a server like that of a facade.
func (s *source) start() (*httptest.Server, error) {
	server := httptest.NewUnstartedServer(s)
	server.Listener = frames.Listener(server.Listener)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{DynamicRecordSizingDisabled: true, MinVersion: tls.VersionTLS12}
	if err := frames.ConfigureServer(server.Config); err != nil {
		return nil, err
	}
	server.StartTLS()
	return server, nil
}
