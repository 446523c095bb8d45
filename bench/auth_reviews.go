package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

const (
	replicas     = 1000
	replicaReads = 5
	replicasFor  = time.Minute
	steadyFor    = time.Minute
)

// reviews contains the numbers of TokenReviews and SubjectAccessReviews that kube-apiserver received.
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

// codes counts responses by status code, and requests without a response as 0. It is safe for concurrent use.
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

// awaitRetry waits for the time in Retry-After, or until the context ends. It fails without this header, and for any
// status other than 429.
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
