package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// manyWatches describes how watches are opened: their number, the streams of a connection, and the number of clients
// that open them at the same time.
type manyWatches struct {
	watches  int
	protocol protocol
	streams  int // maximum on a connection; 1 over HTTP/1.1
	openers  int
	read     func(io.Reader) error // reads a watch to its end; nil discards the events
}

// String describes the watches for a row of a table.
func (m manyWatches) String() string {
	if m.protocol == http1 {
		return fmt.Sprintf("%d watches over HTTP/1.1", m.watches)
	}
	return fmt.Sprintf("%d watches, %d to a connection", m.watches, m.streams)
}

// opening is the cost of opening all watches.
type opening struct{ took, cpu time.Duration }

// open opens a watch of each path and returns when all are open. The goroutines of the group read them until its
// context ends.
func (m manyWatches) open(ctx context.Context, group *errgroup.Group, s *server,
	path func(int) string) (o opening, err error) {
	clients := make([]*http.Client, (m.watches+m.streams-1)/m.streams)
	for i := range clients {
		if clients[i], err = s.visitor(m.protocol); err != nil {
			return o, err
		}
	}
	before, err := s.process.CPU()
	if err != nil {
		return o, err
	}
	began := time.Now()
	openers, opening := errgroup.WithContext(ctx)
	for first := range m.openers {
		openers.Go(func() error {
			for i := first; i < m.watches && opening.Err() == nil; i += m.openers {
				q := question{name: "WATCH", path: path(i), encoding: "identity", protocol: m.protocol}
				client := clients[i%len(clients)]
				response, err := s.ask(ctx, client, q) // the watch must outlast the context opening
				if err != nil {
					return err
				}
				group.Go(func() error { return s.sink(ctx, client, response, q, m.read) })
			}
			return nil
		})
	}
	if err := openers.Wait(); err != nil {
		return o, err
	}
	o.took = time.Since(began)
	after, err := s.process.CPU()
	o.cpu = after - before
	return o, err
}

// sink reads a watch until the context ends.
func (s *server) sink(ctx context.Context, client *http.Client, response *http.Response, q question,
	read func(io.Reader) error) error {
	defer client.CloseIdleConnections()
	defer response.Body.Close()
	if read == nil {
		read = ignore
	}
	err := read(response.Body)
	if ctx.Err() != nil {
		return nil
	}
	return &answerError{server: s.name, question: q.String(), what: fmt.Sprintf("ended: %v", err)}
}

func ignore(body io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{body}, make([]byte, 4<<10))
	return err
}

// watchesOf derives from a watch of all pods the path of a watch of each pod.
func watchesOf(all question, pods []string) func(int) string {
	_, query, _ := strings.Cut(all.path, "?")
	return func(i int) string {
		pod := pods[i%len(pods)]
		slash := strings.LastIndexByte(pod, '/')
		return pod[:slash] + "?" + query + "&fieldSelector=metadata.name%3D" + pod[slash+1:]
	}
}
