package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/proc"
)

const (
	// floodFrom is the first argument with which the benchmark starts itself as the flooding process. The process reads a
	// floodTarget from its standard input, and floods the target until that input ends. It then writes the counts of
	// response codes to its standard output.
	floodFrom = "flood"
	// floodNice is the niceness of the flooding process. In a real flood the clients run on other machines and use none of
	// the server's processor time.
	floodNice  = "19"
	floodPause = 20 * time.Millisecond // pause of one flooding client between two requests
)

// floodTarget is the server to flood and the credentials to use.
type floodTarget struct {
	Host string
	TLS  rest.TLSClientConfig
}

// floodWay is one kind of request of the flood.
type floodWay struct {
	what    string
	clients int
	guess   bool // with a random token instead of the certificate
	path    func(n int64) string
}

// floodWays returns the requests of one user and those of a client that guesses tokens.
func floodWays() []floodWay {
	large := strings.Repeat("a/", 10<<10)
	return []floodWay{
		{what: "lists of all pods", clients: 4, path: func(int64) string { return "/api/v1/pods" }},
		{what: "watches of a pod", clients: 64, path: func(int64) string {
			return "/api/v1/pods?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da&resourceVersion=0"
		}},
		{what: "random names", clients: 16,
			path: func(n int64) string { return fmt.Sprintf("/api/v1/namespaces/default/pods/random-%d", n) }},
		{what: "selectors of 20 KiB", clients: 4,
			path: func(n int64) string { return fmt.Sprintf("/api/v1/pods?labelSelector=%s%d", large, n) }},
		{what: "invalid tokens", clients: 8, guess: true, path: func(int64) string { return "/api/v1/pods" }},
	}
}

// flood is a running flooding process.
type flood struct {
	command *exec.Cmd
	stdin   io.Closer
	stdout  io.Reader
}

// startFlood floods a server with its user's credentials.
func startFlood(ctx context.Context, s *server) (*flood, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the benchmark's executable: %w", err)
	}
	f := &flood{command: exec.CommandContext(ctx, "nice", "-n", floodNice, self, floodFrom)}
	f.command.Stderr = os.Stderr
	if f.stdout, err = f.command.StdoutPipe(); err != nil {
		return nil, err
	}
	stdin, err := f.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	f.stdin = stdin
	if err := f.command.Start(); err != nil {
		return nil, fmt.Errorf("start the flood: %w", err)
	}
	if err := json.NewEncoder(stdin).Encode(floodTarget{Host: s.config.Host, TLS: s.config.TLSClientConfig}); err != nil {
		return nil, errors.Join(fmt.Errorf("start the flood: %w", err), f.stop(make([]codes, len(floodWays()))))
	}
	return f, nil
}

// process returns the flooding process, for its processor time.
func (f *flood) process() proc.Process { return proc.Process(f.command.Process.Pid) }

// stop ends the flood and adds its counts of response codes, in the order of floodWays.
func (f *flood) stop(answers []codes) error {
	_ = f.stdin.Close()
	var counts []map[int]int
	err := json.NewDecoder(f.stdout).Decode(&counts)
	if err := errors.Join(err, f.command.Wait()); err != nil {
		return fmt.Errorf("end the flood: %w", err)
	}
	for i, of := range counts {
		for code, n := range of {
			answers[i].addMany(code, n)
		}
	}
	return nil
}

// beFlood is the main function of the flooding process.
func beFlood(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	var target floodTarget
	if err := decoder.Decode(&target); err != nil {
		return fmt.Errorf("read the target of the flood: %w", err)
	}
	user, err := newServer("flooded", 0, &rest.Config{Host: target.Host, TLSClientConfig: target.TLS})
	if err != nil {
		return err
	}
	anonymous, err := user.as(rest.Config{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, in) // until the parent closes it or exits
	}()
	ways := floodWays()
	answers := make([]codes, len(ways))
	group, ctx := errgroup.WithContext(ctx)
	for i, way := range ways {
		by := user
		if way.guess {
			by = anonymous
		}
		for range way.clients {
			group.Go(func() error { return way.ask(ctx, by, &answers[i]) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	counts := make([]map[int]int, len(ways))
	for i := range answers {
		counts[i] = answers[i].of
	}
	return json.NewEncoder(out).Encode(counts)
}

// ask sends requests until the context ends. It discards the bodies of the responses.
func (w floodWay) ask(ctx context.Context, by *server, answers *codes) error {
	client, err := by.visitor(http2)
	if err != nil {
		return err
	}
	defer dismiss([]caller{{client: client}})
	tick := time.NewTicker(floodPause)
	defer tick.Stop()
	for {
		header := http.Header{"Accept-Encoding": {"gzip"}}
		if w.guess {
			header.Set("Authorization", fmt.Sprintf("Bearer guess-%d", rand.Int64()))
		}
		response, err := code(ctx, client, by.base+w.path(rand.Int64()), header)
		if err == nil {
			answers.add(response.StatusCode)
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		} else if ctx.Err() == nil {
			answers.add(0)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
