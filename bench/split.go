package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/report"
)

const (
	splitClients = 64 // clients of the facade itself, and as many clients of the proxy
	// splitReads is how long the clients send GETs. In each splitPause, a client sends one GET to each server. The
	// processors must not be busy all the time. Otherwise the benchmark would measure the wait for a processor.
	splitReads = 20 * time.Second
	splitPause = 400 * time.Millisecond
	// splitOwnEvents is the interval between events that one or two clients of each server receive. splitAllEvents is the
	// interval between events that all clients receive.
	splitOwnEvents = 20 * time.Millisecond
	splitAllEvents = 200 * time.Millisecond
)

// measureSplit adds rows about the latency that "listfacade split" causes: for GETs, and for events for one client or
// for all.
func measureSplit(ctx context.Context, s *stage, t *table) error {
	direct, through, stop, err := s.startSplit(ctx)
	if err != nil {
		return err
	}
	defer stop()
	before, err := spentBy(direct, through)
	if err != nil {
		return err
	}
	reads, err := s.readBoth(ctx, direct, through)
	if err != nil {
		return err
	}
	after, err := spentBy(direct, through)
	if err != nil {
		return err
	}
	n := len(reads.direct)
	t.add(fmt.Sprintf("GET a pod, %d clients, at the facade: p50 / p90 / p99 / maximum of %d", splitClients, n), "",
		percentiles(reads.direct), "")
	t.add(fmt.Sprintf("GET a pod, %d clients, through split", splitClients), "", percentiles(reads.facade),
		fmt.Sprintf("%+.2f ms", float64(quantile(reads.facade, 0.99)-quantile(reads.direct, 0.99))/1e6))
	// The facade answers its own clients and those of the proxy.
	t.add("CPU of a GET: facade / split", "", report.Duration((after[0]-before[0])/time.Duration(2*n))+" / "+
		report.Duration((after[1]-before[1])/time.Duration(n)), "")
	own, err := s.ownNamespaces(ctx)
	if err != nil {
		return err
	}
	all := watched{paths: []string{"/api/v1/pods"}, every: splitAllEvents}
	if all.pods, err = names(ctx, s.direct, somePods); err != nil {
		return err
	}
	for _, w := range []struct {
		watched
		name string
	}{{own, "its namespace"}, {all, "all pods"}} {
		events, err := s.watchBoth(ctx, direct, through, w.watched)
		if err != nil {
			return err
		}
		t.add(fmt.Sprintf("PATCH sent until the event arrives, %d watches, each of %s, at the facade: p50 / p90 / p99 / maximum of %d",
			splitClients, w.name, len(events.direct)), "", percentiles(events.direct), "")
		t.add(fmt.Sprintf("PATCH sent until the event arrives, %d watches, each of %s, through split", splitClients, w.name), "", percentiles(events.facade),
			fmt.Sprintf("%+.2f ms", float64(quantile(events.facade, 0.99)-quantile(events.direct, 0.99))/1e6))
	}
	memory, err := through.process.Memory()
	if err != nil {
		return err
	}
	t.add("split: memory", "", report.Size(memory.Resident), "")
	return nil
}

// spentBy returns the processor time that each server has used.
func spentBy(servers ...*server) ([]time.Duration, error) {
	var all []time.Duration
	for _, server := range servers {
		spent, err := server.process.CPU()
		if err != nil {
			return nil, err
		}
		all = append(all, spent)
	}
	return all, nil
}

// startSplit starts the proxy in front of the facade, and returns clients of both with the same token.
func (s *stage) startSplit(ctx context.Context) (direct, through *server, stop func(), err error) {
	admin, err := administrator(s.cluster)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := admit(ctx, admin); err != nil {
		return nil, nil, nil, err
	}
	bearer, err := token(ctx, admin)
	if err != nil {
		return nil, nil, nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, nil, nil, err
	}
	process := exec.CommandContext(ctx, filepath.Join(s.dir, facadeName), "split", "--kube-apiserver", s.cluster.Server,
		"--kube-apiserver-ca-file", s.cluster.CAFile, "--facade", s.facade.base, "--facade-ca-file",
		filepath.Join(s.dir, "listfacade.crt"), "--secure-port", port, "--cert-dir", s.dir, "--metrics-bind-address", "",
		"--log-level", "warn", "--shutdown-delay-duration", "0")
	process.Stderr = os.Stderr
	f := &facade{process: process}
	config := &rest.Config{Host: "https://" + net.JoinHostPort("127.0.0.1", port), BearerToken: bearer, QPS: -1}
	config.CAFile = filepath.Join(s.dir, "listfacade.crt")
	if _, err = f.start(ctx, config, s.direct); err != nil {
		return nil, nil, nil, err
	}
	if direct, err = s.facade.as(rest.Config{BearerToken: bearer}); err != nil {
		f.stop()
	}
	return direct, f.server, f.stop, err
}

// readBoth sends GETs of clients with connections of their own, to the facade and through the proxy in turns. In its
// result, direct is the facade, and facade is the proxy.
func (s *stage) readBoth(ctx context.Context, direct, through *server) (d delays, err error) {
	q := question{name: "GET a pod", path: podPath(s.options.pods), encoding: "identity", protocol: http2}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for i := range splitClients {
		group.Go(func() error {
			one, err := readInTurns(ctx, q, time.Duration(i)*splitPause/splitClients, direct, through)
			mu.Lock()
			defer mu.Unlock()
			d.direct, d.facade = append(d.direct, one[0]...), append(d.facade, one[1]...)
			return err
		})
	}
	return d, group.Wait()
}

// readInTurns returns the durations of one client's GETs of each server, without those that open the connections.
func readInTurns(ctx context.Context, q question, after time.Duration, servers ...*server) ([2][]time.Duration, error) {
	var taken [2][]time.Duration
	for i, server := range servers {
		alone, done, err := server.alone()
		if err != nil {
			return taken, err
		}
		defer done()
		servers[i] = alone
	}
	tick := time.NewTicker(splitPause/2 + after) // later ticks have the usual interval
	defer tick.Stop()
	for n := range 2 * int(splitReads/splitPause) {
		select {
		case <-tick.C:
			tick.Reset(splitPause / 2)
		case <-ctx.Done():
			return taken, ctx.Err()
		}
		i, began := n%len(servers), time.Now()
		if _, err := servers[i].get(ctx, q, io.Discard); err != nil {
			return taken, err
		}
		if n >= 2*len(servers) {
			taken[i] = append(taken[i], time.Since(began))
		}
	}
	return taken, nil
}

// alone returns the same server with a client that has connections of its own, and a function that closes them.
func (s *server) alone() (*server, func(), error) {
	client, err := s.visitor(http2)
	if err != nil {
		return nil, nil, err
	}
	one := *s
	one.clients = map[protocol]*http.Client{http2: client}
	return &one, client.CloseIdleConnections, nil
}

// watched describes watches. Client n watches paths[n%len(paths)]. The pods are patched in turn, and pods[n] is a pod
// of paths[n%len(paths)], so each path has the same number of events.
type watched struct {
	paths, pods []string
	every       time.Duration
}

// ownNamespaces returns watches of one namespace for each client, and one pod of each namespace.
func (s *stage) ownNamespaces(ctx context.Context) (watched, error) {
	w := watched{every: splitOwnEvents}
	for i := range s.options.pods.Namespaces {
		path := "/api/v1/namespaces/" + s.options.pods.Namespace(i) + "/pods"
		pods, err := names(ctx, s.direct, path+"?limit=1")
		if err != nil {
			return watched{}, err
		}
		w.paths, w.pods = append(w.paths, path), append(w.pods, pods[:1]...)
	}
	return w, nil
}

// watchBoth patches pods while clients with connections of their own watch them, at the facade and through the proxy.
// In its result, direct is the facade, and facade is the proxy.
func (s *stage) watchBoth(ctx context.Context, direct, through *server, w watched) (delays, error) {
	seed := maphash.MakeSeed()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	var established sync.WaitGroup
	var all [2][]*observer
	for i, server := range []*server{direct, through} {
		for n := range splitClients {
			alone, done, err := server.alone()
			if err != nil {
				return delays{}, err
			}
			defer done()
			o := &observer{server: alone, path: w.paths[n%len(w.paths)], seed: seed, seen: map[int64]arrival{}}
			all[i] = append(all[i], o)
			established.Add(1)
			ready := sync.OnceFunc(established.Done)
			group.Go(func() error {
				defer ready()
				return o.run(watching, ready)
			})
		}
	}
	established.Wait()
	// All paths have the same number of events.
	each := int(s.options.eventsFor/w.every) / len(w.paths)
	sent := time.Duration(each * len(w.paths))
	_, err := patch(watching, s.direct, w.pods, eventRate{eventsFor: sent * w.every, eventEvery: w.every})
	if err == nil {
		err = awaitAll(watching, each, append(all[0], all[1]...)...)
	}
	stop()
	if waited := group.Wait(); err == nil {
		err = waited
	}
	if err != nil {
		return delays{}, err
	}
	return paired(all[0], all[1])
}

// paired joins the delays of pairs of observers.
func paired(direct, through []*observer) (delays, error) {
	var d delays
	for i := range direct {
		one, err := between(direct[i].seen, through[i].seen)
		if err != nil {
			return delays{}, err
		}
		d.direct, d.facade = append(d.direct, one.direct...), append(d.facade, one.facade...)
		d.added = append(d.added, one.added...)
	}
	return d, nil
}
