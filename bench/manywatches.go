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

// manyWatches is a way to hold watches open: how many, on how many streams a connection, opened by how many clients at
// the same time.
type manyWatches struct {
	watches  int
	protocol protocol
	streams  int // on a connection; 1 over HTTP/1.1
	openers  int
	hear     func(io.Reader) error // reads a watch to its end; nil: what comes is of no interest
}

// String names it.
func (m manyWatches) String() string {
	if m.protocol == http1 {
		return fmt.Sprintf("%d watches over HTTP/1.1", m.watches)
	}
	return fmt.Sprintf("%d watches, %d to a connection", m.watches, m.streams)
}

// opening is what it took to open all of them.
type opening struct{ took, cpu time.Duration }

// open opens a watch of each path and returns when all are open. The group holds them until its context ends.
func (m manyWatches) open(ctx context.Context, group *errgroup.Group, s *server, path func(int) string) (o opening, err error) {
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
				response, err := s.ask(ctx, client, q) // in the context that lasts as long as the watch
				if err != nil {
					return err
				}
				group.Go(func() error { return s.sink(ctx, client, response, q, m.hear) })
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
func (s *server) sink(ctx context.Context, client *http.Client, response *http.Response, q question, hear func(io.Reader) error) error {
	defer client.CloseIdleConnections()
	defer response.Body.Close()
	if hear == nil {
		hear = ignore
	}
	err := hear(response.Body)
	if ctx.Err() != nil {
		return nil
	}
	return &answerError{server: s.name, question: q.String(), what: fmt.Sprintf("ended: %v", err)}
}

func ignore(body io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{body}, make([]byte, 4<<10))
	return err
}

// watchesOf makes of a watch of all pods one of each pod.
func watchesOf(all question, pods []string) func(int) string {
	_, query, _ := strings.Cut(all.path, "?")
	return func(i int) string {
		pod := pods[i%len(pods)]
		slash := strings.LastIndexByte(pod, '/')
		return pod[:slash] + "?" + query + "&fieldSelector=metadata.name%3D" + pod[slash+1:]
	}
}
