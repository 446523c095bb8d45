package incidents

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// minute is the duration of a simulated minute.
const minute = 700 * time.Millisecond

// monitor is a Prometheus with simulated minutes.
type monitor struct {
	targets []*target
	rules   rules

	mu      sync.Mutex // guards what follows
	known   kinds
	scrapes [][]scrape // by minute and target
	expects []expectation
}

// expectation is the set of alerts that have fired up to a minute, or that no alert fires then.
type expectation struct {
	minute int
	alerts []string
	beside []string // names of alerts that may or may not fire
}

// watch monitors facades until the test ends. operator has the credentials of the scrapes, or is nil for none.
func watch(t *testing.T, operator *rest.Config, facades ...*suite.Facade) *monitor {
	t.Helper()
	m := &monitor{rules: readRules(t), known: kinds{}}
	for i, f := range facades {
		config := rest.CopyConfig(f.Config)
		if operator != nil {
			config = f.ConfigOf(operator)
		}
		config.DisableCompression = true // slow with the race detector
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.CloseIdleConnections)
		m.targets = append(m.targets, &target{pod: string(rune('a' + i)), url: f.URL, client: client})
	}
	m.start(t)
	return m
}

// start scrapes all targets each simulated minute until the test ends.
func (m *monitor) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			next := time.NewTimer(minute) //pace: what grows in a moment is no rate
			m.scrape(ctx)
			select {
			case <-next.C:
			case <-ctx.Done():
			}
			next.Stop()
		}
	}()
}

func (m *monitor) scrape(ctx context.Context) {
	said, known := make([]scrape, len(m.targets)), make([]kinds, len(m.targets))
	var group sync.WaitGroup
	for i, g := range m.targets {
		known[i] = kinds{}
		group.Go(func() { said[i] = g.scrape(ctx, known[i], m.rules.metrics) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range known {
		maps.Copy(m.known, k)
	}
	m.scrapes = append(m.scrapes, said)
}

// now returns the number of simulated minutes.
func (m *monitor) now() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.scrapes)
}

// passes waits for that many simulated minutes.
func (m *monitor) passes(t *testing.T, minutes int) {
	t.Helper()
	until := m.now() + minutes
	testkit.Eventually(t, fmt.Sprintf("%d minutes have passed", minutes), func() error {
		if now := m.now(); now < until {
			return fmt.Errorf("%d minutes remain", until-now)
		}
		return nil
	})
}

// fires records the expectation that exactly these alerts have fired up to now or, without alerts, that none fires now.
// verify checks it. An alert is written with those of its labels that told contains, for example
// ListfacadeLaneStale{resource="pods"}.
func (m *monitor) fires(alerts ...string) { m.firesBeside(nil, alerts...) }

// firesBeside is fires with the names of other alerts that may also fire.
func (m *monitor) firesBeside(others []string, alerts ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expects = append(m.expects, expectation{minute: len(m.scrapes) - 1, alerts: alerts, beside: others})
}

// verify evaluates the rules over the scrapes with promtool, and compares the alerts with the expectations.
func (m *monitor) verify(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	series := stretched(m.targets, m.scrapes, m.known)
	m.rules.verify(t, series, m.expects)
}

// metricNames finds the names of metrics in rules.
var metricNames = regexp.MustCompile(`\b(?:apiserver|listfacade)_[a-z0-9_]+`)

// metricsOf returns the metrics that rules use.
func metricsOf(text string) map[string]bool {
	all := map[string]bool{}
	for _, name := range metricNames.FindAllString(text, -1) {
		all[name] = true
	}
	return all
}

// isCounter reports whether a metric is a counter.
func (k kinds) isCounter(name string) bool {
	if k[name] == "counter" {
		return true
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if of, ok := strings.CutSuffix(name, part); ok && k[of] == "histogram" {
			return true
		}
	}
	return false
}
