package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	freshNamespace = "fresh"
	busyKinds      = 2                    // busy kinds: the first ones of testkit.FreshKinds
	busyEvery      = 5 * time.Millisecond // interval between two changes of a busy kind
	freshWrites    = 2000                 // number of writes that are read back from the facade
	directWrites   = 500                  // number of writes that are read back from kube-apiserver
	wholeReads     = 10                   // number of lists of all pods, each after a write
	clients        = 200
	clientsFor     = 15 * time.Second
)

// activity says whether a kind changes often.
type activity string

const (
	busy  activity = "busy"
	quiet activity = "quiet"
)

// readKey is the kind of a timed read.
type readKey struct {
	verb     string
	activity activity
}

// timings are the durations of reads, unordered.
type timings struct {
	mu    sync.Mutex
	taken map[readKey][]time.Duration // guarded by mu
}

func (t *timings) add(key readKey, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken[key] = append(t.taken[key], took)
}

// author writes objects and reads them back.
type author struct {
	client dynamic.Interface
	reader *server
	*timings
}

// measureFreshness reads back each write. A response without the last write is an error.
func measureFreshness(ctx context.Context, s *stage, t *table) error {
	client, err := writer(ctx, s.cluster)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	group, working := errgroup.WithContext(working)
	for _, kind := range testkit.FreshKinds()[:busyKinds] {
		group.Go(func() error { return keepBusy(working, client, kind) })
	}
	err = func() error {
		defer stop()
		return readBack(working, client, s.pair, t)
	}()
	if busyErr := group.Wait(); err == nil {
		err = busyErr
	}
	return err
}

func readBack(ctx context.Context, client dynamic.Interface, servers pair, t *table) error {
	taken := map[*server]*timings{}
	for s, writes := range map[*server]int{servers.facade: freshWrites, servers.direct: directWrites} {
		say("writing %d times and reading back from %s", writes, s.name)
		a := author{client: client, reader: s, timings: &timings{taken: map[readKey][]time.Duration{}}}
		taken[s] = a.timings
		for i := range writes {
			if err := a.step(ctx, i, "alone"); err != nil {
				return err
			}
		}
	}
	t.addReads("read after a write", taken[servers.direct], taken[servers.facade])
	say("listing all pods %d times, each after a write", wholeReads)
	if err := readWhole(ctx, servers, t); err != nil {
		return err
	}
	say("%d clients write and read back for %s", clients, clientsFor)
	return measureClients(ctx, client, servers, t)
}

// step writes an object of one of the kinds, then reads it with a LIST and a GET.
func (a *author) step(ctx context.Context, i int, name string) error {
	kinds := testkit.FreshKinds()
	kind, p := kinds[i%len(kinds)], quiet
	if i%len(kinds) < busyKinds {
		p = busy
	}
	rv, err := kind.Write(ctx, a.client, freshNamespace, name, fmt.Sprint(i))
	if err != nil {
		return err
	}
	path := kind.Path(freshNamespace)
	for verb, path := range map[string]string{"LIST": path, "GET": path + "/" + name} {
		began := time.Now()
		answer, err := a.reader.read(ctx,
			question{name: verb + " " + path, path: path, encoding: "identity", protocol: http2})
		if err != nil {
			return err
		}
		a.add(readKey{verb, p}, time.Since(began))
		if err := a.check(answer.body, verb+" "+path, name, rv); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error unless a response contains the object at the version of its write.
func (a *author) check(body []byte, what, name, rv string) error {
	type meta struct{ Name, ResourceVersion string }
	var got struct {
		Metadata meta
		Items    []struct{ Metadata meta }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return &answerError{server: a.reader.name, question: what, what: err.Error()}
	}
	for _, item := range append(got.Items, struct{ Metadata meta }{got.Metadata}) {
		if item.Metadata == (meta{name, rv}) {
			return nil
		}
	}
	return &answerError{server: a.reader.name, question: what,
		what: fmt.Sprintf("does not contain %s at resourceVersion %s", name, rv)}
}

// readWhole lists all pods, a large and quiet resource, with a consistent read after each write to one of them.
func readWhole(ctx context.Context, servers pair, t *table) error {
	pods, err := names(ctx, servers.direct, somePods)
	if err != nil {
		return err
	}
	q := question{
		name: "LIST all pods, most recent, as a Table", path: "/api/v1/pods", encoding: "gzip", protocol: http2,
		accept: tableType,
	}
	taken := map[*server][]time.Duration{}
	for i := range wholeReads {
		for _, s := range []*server{servers.direct, servers.facade} {
			if err := stamp(ctx, servers.direct, pods[i]); err != nil {
				return err
			}
			rv, err := versionOf(ctx, servers.direct, pods[i])
			if err != nil {
				return err
			}
			var body bytes.Buffer
			began := time.Now()
			header, err := s.get(ctx, q, &body)
			if err != nil {
				return err
			}
			taken[s] = append(taken[s], time.Since(began))
			answer, err := reading{header: header, body: body.Bytes()}.unpack()
			if err != nil {
				return err
			}
			if !bytes.Contains(answer.body, []byte(`"resourceVersion":"`+rv+`"`)) {
				return &answerError{server: s.name, question: q.String(), what: "does not contain " + pods[i] + " at " + rv}
			}
		}
	}
	t.addTimes(q.String()+", after a write to one of them", taken[servers.direct], taken[servers.facade])
	return nil
}

func versionOf(ctx context.Context, s *server, path string) (string, error) {
	answer, err := s.read(ctx, question{name: "GET " + path, path: path, encoding: "identity", protocol: http2})
	if err != nil {
		return "", err
	}
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	err = json.Unmarshal(answer.body, &object)
	return object.Metadata.ResourceVersion, err
}
