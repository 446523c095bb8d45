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
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/internal/testkit"
)

// writer returns a client of kube-apiserver, and creates the namespace to write in.
func writer(ctx context.Context, cluster *testkit.Cluster) (dynamic.Interface, error) {
	config, err := cluster.Config("admin")
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: freshNamespace}}
	if _, err := typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create a namespace: %w", err)
	}
	return dynamic.NewForConfig(config)
}

// keepBusy changes an object of a kind at a steady rate until the context ends.
func keepBusy(ctx context.Context, client dynamic.Interface, kind testkit.FreshKind) error {
	tick := time.NewTicker(busyEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if _, err := kind.Write(ctx, client, freshNamespace, "busy", strconv.Itoa(i)); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// admit sends each read of a client once, and retries until it succeeds. The facade may answer some of the first reads
// with 429.
func (a *author) admit(ctx context.Context, kind testkit.FreshKind, name string) error {
	if _, err := kind.Write(ctx, a.client, freshNamespace, name, "first"); err != nil {
		return err
	}
	path := kind.Path(freshNamespace)
	for _, path := range []string{path, path + "/" + name} {
		for ctx.Err() == nil {
			response, err := code(ctx, a.reader.clients[http2], a.reader.base+path, http.Header{})
			if err != nil {
				return err
			}
			if response.StatusCode == http.StatusOK {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				break
			}
			if err := a.reader.awaitRetry(ctx, response, "GET "+path); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// measureClients lets many clients write and read back at the same time, each with its own object of one kind. It
// counts the requests to kube-apiserver that their reads cause.
func measureClients(ctx context.Context, client dynamic.Interface, servers pair, t *table) error {
	taken := &timings{taken: map[readKey][]time.Duration{}}
	kinds := testkit.FreshKinds()
	a := author{client: client, reader: servers.facade, timings: taken}
	admitted, admitting := errgroup.WithContext(ctx)
	for c := range clients {
		admitted.Go(func() error { return a.admit(admitting, kinds[c%len(kinds)], fmt.Sprintf("client%d", c)) })
	}
	if err := admitted.Wait(); err != nil {
		return err
	}
	before, err := counters(ctx, servers.facade)
	if err != nil {
		return err
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for c := range clients {
		group.Go(func() error {
			for i := c; time.Since(began) < clientsFor; i += len(kinds) { // all these indices belong to one kind
				if err := a.step(ctx, i, fmt.Sprintf("client%d", c)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	after, err := counters(context.WithoutCancel(ctx), servers.facade)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d clients at once", clients)
	t.addReads(name, nil, taken)
	reads := 0
	for _, all := range taken.taken {
		reads += len(all)
	}
	rate := func(n float64) string { return report.Number(n/seconds) + " /s" }
	t.add(name+": reads", "", rate(float64(reads)), "")
	for _, kind := range []string{"probe", "roll-call", "progress-watch"} {
		t.add(name+": freshness checks at kube-apiserver, "+kind, "", rate(after[kind]-before[kind]), "")
	}
	t.add(name+": reads that kube-apiserver answered", "", rate(after[forwarded]-before[forwarded]), "")
	return nil
}

// forwarded is the key of the requests that kube-apiserver answered.
const forwarded = "forwarded"

// counters returns the numbers of the facade's questions to kube-apiserver by kind, and of forwarded requests.
func counters(ctx context.Context, facade *server) (map[string]float64, error) {
	answer, err := facade.read(ctx,
		question{name: "metrics", path: "/metrics", accept: "*/*", encoding: "identity", protocol: http2})
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(answer.body))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		if !ok {
			continue
		}
		key := ""
		if kind, ok := strings.CutPrefix(name, `listfacade_upstream_questions_total{kind="`); ok {
			key = strings.TrimSuffix(kind, `"`)
		}
		if strings.HasPrefix(name, "listfacade_requests_total{") && strings.Contains(name, `source="upstream"`) {
			key = forwarded
		}
		if key == "" {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("parse the metric %s: %w", name, err)
		}
		counts[key] += n
	}
	return counts, lines.Err()
}
