package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// openers is the number of clients that open watches at the same time.
const openers = 16

// watchFrom returns a watch of the changes after the current version.
func (s *server) watchFrom(ctx context.Context, path string) (question, error) {
	// The version is from a consistent list that selects a name that no object has. A watch from this version does not
	// receive earlier writes.
	q := question{name: "version", path: path + "?fieldSelector=metadata.name%3Dnobody", encoding: "identity",
		protocol: http2}
	a, err := s.read(ctx, q)
	if err != nil {
		return question{}, err
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(a.body, &list); err != nil {
		return question{}, fmt.Errorf("%s: read the version of %s: %w", s.name, path, err)
	}
	path += "?watch=true&timeoutSeconds=3000&resourceVersion=" + list.Metadata.ResourceVersion
	return question{name: "WATCH", path: path, encoding: "identity", protocol: http2}, nil
}

// version returns the version from which a watch of watchFrom starts.
func (q question) version() (uint64, error) {
	version, err := strconv.ParseUint(q.path[strings.LastIndexByte(q.path, '=')+1:], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse the version in %s: %w", q.path, err)
	}
	return version, nil
}

// measureWatches adds each server's memory for one idle watch.
func measureWatches(ctx context.Context, s *stage, t *table) error {
	o := s.options
	say("opening %d watches on each", o.watches)
	direct, err := s.direct.watchMemory(ctx, o)
	if err != nil {
		return err
	}
	facade, err := s.facade.watchMemory(ctx, o)
	if err != nil {
		return err
	}
	t.addBytes(fmt.Sprintf("heap and stacks for each of %d idle watches of a node's pods", o.watches), direct, facade)
	return nil
}

// watchMemory opens watches of one node's pods each, like the agents of nodes, and returns the server's memory for each
// of them. It does not use resident memory, because a server reuses memory that lists have freed.
func (s *server) watchMemory(ctx context.Context, o options) (int64, error) {
	before, err := s.collect(ctx)
	if err != nil {
		return 0, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	if err := s.openWatches(watching, group, o); err != nil {
		return 0, err
	}
	after, err := s.collect(watching)
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return 0, err
	}
	return (after.heap + after.stacks - before.heap - before.stacks) / int64(o.watches), nil
}

// openWatches returns when all watches are open. The goroutines of the group keep them open until its context ends.
func (s *server) openWatches(ctx context.Context, group *errgroup.Group, o options) error {
	q, err := s.watchFrom(ctx, "/api/v1/pods")
	if err != nil {
		return err
	}
	var opened sync.WaitGroup
	opened.Add(o.watches)
	slots := make(chan struct{}, openers)
	for i := range o.watches {
		one := q
		one.path += "&fieldSelector=spec.nodeName%3D" + o.pods.Node(i)
		slots <- struct{}{}
		done := sync.OnceFunc(func() { <-slots; opened.Done() })
		group.Go(func() error {
			defer done()
			return s.hold(ctx, one, done)
		})
	}
	opened.Wait()
	return nil
}

// openPatiently opens a watch and retries after each 429, as client-go does.
func (s *server) openPatiently(ctx context.Context, q question) (*http.Response, error) {
	for {
		response, err := s.open(ctx, q)
		var refused *answerError
		if !errors.As(err, &refused) || refused.code != http.StatusTooManyRequests {
			return response, err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// hold keeps a watch open until the context ends. It calls opened when the watch is open.
func (s *server) hold(ctx context.Context, q question, opened func()) error {
	response, err := s.openPatiently(ctx, q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	opened()
	_, err = io.Copy(io.Discard, response.Body)
	if ctx.Err() != nil {
		return nil
	}
	return &answerError{server: s.name, question: q.String(), what: fmt.Sprintf("ended: %v", err)}
}
