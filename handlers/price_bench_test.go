package handlers

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/accounting"
	"github.com/listfacade/listfacade/internal/audit"
	"github.com/listfacade/listfacade/internal/metrics"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
)

// pricedGet is the measured request: an object as large as a pod, from a filled cache.
const pricedGet = "/api/v1/namespaces/ns/configmaps/7?resourceVersion=0"

// pricedObservers are the observers that receive each request, from none to all of them.
var pricedObservers = []struct {
	name                              string
	metrics, slow, accounting, audits bool
}{
	{name: "none"},
	{name: "metrics", metrics: true},
	{name: "slow lines", slow: true},
	{name: "accounting", accounting: true},
	{name: "audit", audits: true},
	{name: "all", metrics: true, slow: true, accounting: true, audits: true},
}

// BenchmarkPrice measures the cost of each observer for a GET from a filled cache. It measures the handlers alone, and
// the process when the request comes from another process over HTTP/2 and TLS. Audit lines are written in batches.
func BenchmarkPrice(b *testing.B) {
	for _, priced := range pricedObservers {
		f := newBenched(b, func(c *Config) {
			observers := observe.Observers{}
			if priced.metrics {
				observers = append(observers, c.Counters.(*metrics.Metrics), oplog.NewHistory())
			}
			if priced.slow {
				observers = append(observers, oplog.NewSlowLog(zap.NewNop(), oplog.SlowLimits{Request: time.Second, WatchLag: time.Second}))
			}
			if priced.accounting {
				c.Inflight = new(observe.Inflight)
				c.Clients = accounting.NewClients(c.Inflight)
				observers = append(observers, c.Clients, c.Inflight)
			}
			if priced.audits {
				observers = append(observers, auditEverything(b, c.Counters.(*metrics.Metrics)))
			}
			c.Observer = observers
		})
		f.open(b, f.client(b), "/api/v1/configmaps?resourceVersion=0") // fill the lane
		b.Run(priced.name+"/handlers", f.handle)
		b.Run(priced.name+"/process", f.beAsked)
	}
}

// auditEverything writes a line for each request, at level Metadata.
func auditEverything(b *testing.B, counts audit.Counts) *audit.Log {
	b.Helper()
	policy := filepath.Join(b.TempDir(), "policy.yaml")
	const everything = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
	if err := os.WriteFile(policy, []byte(everything), 0o600); err != nil {
		b.Fatal(err)
	}
	config := audit.DefaultConfig()
	config.PolicyFile, config.Path = policy, filepath.Join(b.TempDir(), "audit.log")
	written, err := audit.New(config, counts, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); written.Run(ctx) }()
	b.Cleanup(func() { stop(); <-ended })
	return written
}

// handle sends the request to the handlers, from a client without costs.
func (f *benched) handle(b *testing.B) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, f.base+pricedGet, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.ProtoMajor, r.RequestURI = 2, pricedGet
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		r.Header = http.Header{"Accept": {"application/json"}, "User-Agent": {"bench"}}
		w := &blank{header: http.Header{}}
		f.handler.ServeHTTP(w, r)
		if w.bytes.Load() == 0 {
			b.Fatal("got an empty response")
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/float64(time.Microsecond), "cpu-µs/op")
}

// beAsked lets another process send requests, and reports the costs of this one.
func (f *benched) beAsked(b *testing.B) {
	before := cpu(b)
	client := exec.CommandContext(b.Context(), os.Args[0])
	client.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", getClient, b.N, f.base+pricedGet))
	if out, err := client.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/float64(time.Microsecond), "cpu-µs/op")
}

// getClient is the environment variable that makes this program the other process of BenchmarkPrice. It contains the
// number of requests and the URL.
const getClient = "LISTFACADE_GET_CLIENT"

// getAll sends these requests, eight at a time.
func getAll(what string) {
	var times int
	var url string
	if _, err := fmt.Sscan(what, &times, &url); err != nil {
		panic(err)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableCompression: true, //nolint:gosec // nothing is secret
	}}
	const clients = 8
	var asking errgroup.Group
	for i := range clients {
		asking.Go(func() error {
			for range (times + i) / clients {
				if err := getOnce(client, url); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		panic(err)
	}
}

func getOnce(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", response.Status, err)
	}
	return nil
}
