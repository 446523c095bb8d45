package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	replicas        = 1000
	replicaReads    = 5
	replicasFor     = time.Minute
	nodes           = 5000
	nodesConnection = 100 // nodes whose agents share one connection of the front proxy
	steadyFor       = time.Minute
)

// reviews counts the reviews that kube-apiserver received.
type reviews struct{ tokens, access float64 }

// reviewed reads the counts from kube-apiserver's own metrics.
func (s *server) reviewed(ctx context.Context) (reviews, error) {
	a, err := s.read(ctx, question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "gzip", protocol: http2})
	if err != nil {
		return reviews{}, err
	}
	var r reviews
	lines := bufio.NewScanner(bytes.NewReader(a.body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, ok := strings.CutPrefix(lines.Text(), "apiserver_request_total{")
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(series[strings.LastIndexByte(series, ' ')+1:], 64)
		switch {
		case err != nil:
			return r, fmt.Errorf("parse kube-apiserver's metrics: %w", err)
		case strings.Contains(series, `resource="tokenreviews"`):
			r.tokens += n
		case strings.Contains(series, `resource="subjectaccessreviews"`):
			r.access += n
		}
	}
	return r, lines.Err()
}

func (r reviews) since(before reviews) reviews {
	return reviews{tokens: r.tokens - before.tokens, access: r.access - before.access}
}

func (r reviews) add(t *table, what string, in time.Duration) {
	each := func(n float64) string { return fmt.Sprintf("%.0f (%.1f /s)", n, n/in.Seconds()) }
	t.add(what+": TokenReviews", "", each(r.tokens), "")
	t.add(what+": SubjectAccessReviews", "", each(r.access), "")
}

// codes counts responses by status code. Safe for concurrent use.
type codes struct {
	mu sync.Mutex
	of map[int]int
}

func (c *codes) add(code int) { c.addMany(code, 1) }

func (c *codes) addMany(code, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[int]int{}
	}
	c.of[code] += n
}

func (c *codes) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for code := range 600 {
		if n := c.of[code]; n > 0 {
			all = append(all, fmt.Sprintf("%d × %d", n, code))
		}
	}
	return strings.Join(all, ", ")
}

// code sends a GET and returns the response. The caller reads and closes its body.
func code(ctx context.Context, client *http.Client, url string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	request.Header.Set("User-Agent", userAgent)
	return client.Do(request)
}

func (s *stage) withDefaults(ctx context.Context, flags ...string) (*facade, error) {
	f, _, err := startFacade(ctx, s.dir, s.cluster, s.direct, flags...)
	return f, err
}

// measureReplicas adds how many reviews kube-apiserver receives for 1,000 replicas of one service account. Each has its
// own token and reads five times within a minute.
func measureReplicas(ctx context.Context, s *stage, t *table) error {
	admin, err := administrator(s.cluster)
	if err != nil {
		return err
	}
	if err := admit(ctx, admin); err != nil {
		return err
	}
	f, err := s.withDefaults(ctx)
	if err != nil {
		return err
	}
	defer f.stop()
	say("making %d tokens", replicas)
	tokens := make([]string, replicas)
	group, making := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range tokens {
		group.Go(func() (err error) { tokens[i], err = token(making, admin); return err })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	anonymous, err := f.server.as(rest.Config{})
	if err != nil {
		return err
	}
	before, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	say("reading as %d replicas", replicas)
	answers, took, err := readAsReplicas(ctx, anonymous, tokens)
	if err != nil {
		return err
	}
	after, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d replicas of one service account, %d GETs each in %.0f s", replicas, replicaReads,
		took.Seconds())
	t.add(what+": answers", "", answers.String(), "")
	after.since(before).add(t, what, took)
	return nil
}

// readAsReplicas reads with one token after the other, at a steady rate.
func readAsReplicas(ctx context.Context, s *server, tokens []string) (*codes, time.Duration, error) {
	tick := time.NewTicker(replicasFor / time.Duration(len(tokens)*replicaReads))
	defer tick.Stop()
	answers, began := new(codes), time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	for i := range len(tokens) * replicaReads {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, 0, group.Wait()
		}
		group.Go(func() error {
			header := http.Header{"Authorization": {"Bearer " + tokens[i%len(tokens)]}}
			response, err := code(ctx, s.clients[http2], s.base+"/api/v1/namespaces/default", header)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			answers.add(response.StatusCode)
			_, err = io.Copy(io.Discard, response.Body)
			return err
		})
	}
	err := group.Wait()
	return answers, time.Since(began), err
}

// measureNodes adds how many reviews kube-apiserver receives for the agents of 5,000 nodes. The agents connect through
// a front proxy, and each agent watches the pods of its node. The reviews are counted until all watches are open, and
// for one minute afterwards.
func measureNodes(ctx context.Context, s *stage, t *table) error {
	f, err := s.withDefaults(ctx, "--preload", "pods")
	if err != nil {
		return err
	}
	defer f.stop()
	proxy, err := certificate(s.cluster, testkit.FrontProxyCA, testkit.FrontProxyName)
	if err != nil {
		return err
	}
	agents, err := f.server.as(rest.Config{TLSClientConfig: proxy})
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	group, watching := errgroup.WithContext(watching)
	before, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	say("opening the watches of %d nodes", nodes)
	began := time.Now()
	retries, err := openAsNodes(watching, group, agents)
	if err != nil {
		return err
	}
	took := time.Since(began)
	opened, err := s.direct.reviewed(ctx)
	if err != nil {
		return err
	}
	say("watching as %d nodes", nodes)
	select {
	case <-time.After(steadyFor):
	case <-watching.Done():
	}
	later, err := s.direct.reviewed(ctx)
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	what := fmt.Sprintf("%d nodes open a watch of their pods", nodes)
	t.add(what+": time, and number of retries", "",
		fmt.Sprintf("%s, %d times", report.Duration(took), retries), "")
	opened.since(before).add(t, what, took)
	later.since(opened).add(t, fmt.Sprintf("%d watches of nodes, a minute later", nodes), steadyFor)
	return nil
}

// openAsNodes returns when all watches are open. The goroutines of the group keep them open until its context ends. A
// refused agent retries after the time in Retry-After. retries is the number of refusals.
func openAsNodes(ctx context.Context, group *errgroup.Group, s *server) (retries int64, err error) {
	q, err := s.watchAsNode(ctx)
	if err != nil {
		return 0, err
	}
	var opened sync.WaitGroup
	var refusals atomic.Int64
	slots := make(chan struct{}, 64)
	for first := 0; first < nodes; first += nodesConnection {
		client, err := s.visitor(http2)
		if err != nil {
			return 0, err
		}
		for i := first; i < min(first+nodesConnection, nodes); i++ {
			opened.Add(1)
			done := sync.OnceFunc(opened.Done)
			group.Go(func() error {
				defer done()
				return agent{s, client, fmt.Sprintf("node-%05d", i), slots, &refusals}.watch(ctx, q, done)
			})
		}
	}
	opened.Wait()
	return refusals.Load(), nil
}

// agent watches the pods of one node.
type agent struct {
	server  *server
	client  *http.Client
	node    string
	slots   chan struct{} // limits how many watches are being opened at the same time
	retries *atomic.Int64 // number of refusals
}

// header returns the caller's identity in the headers of a front proxy.
func (a agent) header() http.Header {
	return http.Header{
		"X-Remote-User": {"system:node:" + a.node}, "X-Remote-Group": {"system:nodes", "system:authenticated"},
		"Accept": {jsonType},
	}
}

// watchAsNode returns the URL of a watch of a node's pods from the current version, without the node's name at its end.
func (s *server) watchAsNode(ctx context.Context) (string, error) {
	first := agent{server: s, node: "node-00000"}
	response, err := code(ctx, s.clients[http2],
		s.base+"/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3D"+first.node, first.header())
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return "", &answerError{server: s.name, question: "LIST as a node",
			what: fmt.Sprintf("%s: %.500s (%v)", response.Status, body, err)}
	}
	_, rest, _ := strings.Cut(string(body), `"resourceVersion":"`)
	version, _, _ := strings.Cut(rest, `"`)
	return s.base + "/api/v1/pods?watch=1&timeoutSeconds=3000&resourceVersion=" + version +
		"&fieldSelector=spec.nodeName%3D", nil
}

// watch opens the watch, with as many attempts as it takes, and keeps it open until the context ends.
func (a agent) watch(ctx context.Context, url string, opened func()) error {
	for {
		a.slots <- struct{}{}
		response, err := code(ctx, a.client, url+a.node, a.header())
		<-a.slots
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if response.StatusCode == http.StatusOK {
			opened()
			_, _ = io.Copy(io.Discard, response.Body) // until the end
			return response.Body.Close()
		}
		if err := a.server.awaitRetry(ctx, response, "WATCH as "+a.node); err != nil {
			return err
		}
		a.retries.Add(1)
	}
}

// awaitRetry waits for the time in Retry-After, or until the context ends. It fails for any status other than 429.
func (s *server) awaitRetry(ctx context.Context, refusal *http.Response, question string) error {
	seconds, err := strconv.Atoi(refusal.Header.Get("Retry-After"))
	text, _ := io.ReadAll(io.LimitReader(refusal.Body, 500))
	_ = refusal.Body.Close()
	if err != nil || refusal.StatusCode != http.StatusTooManyRequests {
		return &answerError{server: s.name, question: question, what: fmt.Sprintf("%s: %s", refusal.Status, text)}
	}
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
	case <-ctx.Done():
	}
	return nil
}
