package testkit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

type dozenRun struct {
	dozen         Dozen
	rounds        int
	reads, writes *DozenServer

	mu    sync.Mutex // guards doing
	doing Doing
}

func newDozenRun(d Dozen, rounds int, reads, writes *DozenServer) *dozenRun {
	return &dozenRun{dozen: d, rounds: rounds, reads: reads, writes: writes, doing: Doing{Refused: map[string]int{}}}
}

func (r *dozenRun) run(ctx context.Context) (*Doing, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	for i, client := range r.dozen.Clients() {
		group.Go(func() error {
			v := &visitor{run: r, program: client.Program}
			if err := v.connect(i); err != nil {
				return err
			}
			defer v.reads.CloseIdleConnections()
			defer v.writes.CloseIdleConnections()
			for _, request := range client.Requests {
				if strings.Contains(request.Path, "watch=true") {
					if err := v.watch(watching, &request, &watches); err != nil {
						return err
					}
				}
			}
			return v.visit(ctx, client.Requests, r.rounds)
		})
	}
	err := group.Wait()
	return &r.doing, err
}

type visitor struct {
	run           *dozenRun
	program       string
	reads, writes *http.Client
	readsAt       string // address of the server of reads
	writesAt      string
}

func (v *visitor) connect(i int) (err error) {
	reads, writes := v.run.reads.configs[i], v.run.writes.configs[i]
	v.readsAt, v.writesAt = reads.Host, writes.Host
	if v.reads, err = rest.HTTPClientFor(reads); err != nil {
		return err
	}
	v.writes, err = rest.HTTPClientFor(writes)
	return err
}

// visit sends all requests except watches, in order, for a number of rounds.
func (v *visitor) visit(ctx context.Context, requests []ScriptedRequest, rounds int) error {
	for round := range rounds {
		for _, request := range requests {
			if strings.Contains(request.Path, "watch=true") {
				continue
			}
			for i := range max(request.Times, 1) {
				response, err := v.send(ctx, &request, round*max(request.Times, 1)+i)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if err != nil {
					return fmt.Errorf("%s: read the response to %s: %w", v.program, request.Path, err)
				}
			}
		}
	}
	return nil
}

// watch opens a watch, and reads it until the context ends.
func (v *visitor) watch(ctx context.Context, request *ScriptedRequest, running *sync.WaitGroup) error {
	response, err := v.send(ctx, request, 0)
	if err != nil {
		return err
	}
	running.Go(func() {
		_, _ = io.Copy(io.Discard, response.Body) // ends with the context
		_ = response.Body.Close()
	})
	return nil
}

// send sends one request. number makes the body different from earlier bodies.
func (v *visitor) send(ctx context.Context, r *ScriptedRequest, number int) (*http.Response, error) {
	client, at, body := v.reads, v.readsAt, io.Reader(nil)
	if !r.isRead() {
		client, at, body = v.writes, v.writesAt, strings.NewReader(fmt.Sprintf(r.Body, number))
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, at+r.Path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", r.Accept)
	if !r.isRead() {
		request.Header.Set("Content-Type", scriptedPatch)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.program, err)
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	v.run.doing.Sent++
	if response.StatusCode >= http.StatusBadRequest {
		v.run.doing.Refused[v.program]++
	}
	if response.StatusCode >= http.StatusInternalServerError && response.StatusCode != http.StatusNotImplemented {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s: %s: %s", v.program, r.Path, response.Status)
	}
	return response, nil
}

// AwaitFuture sends lists of a version that does not exist yet, as the first client, until the context ends.
// kube-apiserver answers each list after three seconds.
func (d Dozen) AwaitFuture(ctx context.Context, server *DozenServer) error {
	v := &visitor{run: newDozenRun(d, 1, server, server), program: "poller"}
	if err := v.connect(0); err != nil {
		return err
	}
	defer v.reads.CloseIdleConnections()
	defer v.writes.CloseIdleConnections()
	future := &ScriptedRequest{
		Method: http.MethodGet, Path: "/api/v1/" + d.Resource + "?resourceVersion=9000000000", Accept: scriptedJSON,
	}
	for ctx.Err() == nil {
		if response, err := v.send(ctx, future, 0); err == nil {
			_ = response.Body.Close()
		}
	}
	return ctx.Err()
}
