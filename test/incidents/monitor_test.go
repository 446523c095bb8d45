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

// minute is how long a minute of the monitoring lasts.
const minute = 700 * time.Millisecond

// monitor is a Prometheus whose minutes are short.
type monitor struct {
	targets []*target
	rules   rules

	mu      sync.Mutex // guards what follows
	known   kinds
	scrapes [][]scrape // by minute and target
	expects []expectation
}

// expectation is which alerts have fired up to a moment, or that none fires then.
type expectation struct {
	minute int
	alerts []string
	beside []string // names of alerts that may or may not fire
}

// watch monitors facades until the test ends. operator says as whom each is asked, nil as nobody.
func watch(t *testing.T, operator *rest.Config, facades ...*suite.Facade) *monitor {
	t.Helper()
	m := &monitor{rules: readRules(t), known: kinds{}}
	for i, f := range facades {
		config := rest.CopyConfig(f.Config)
		if operator != nil {
			config = f.ConfigOf(operator)
		}
		config.DisableCompression = true // the race detector makes it dear
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

// start scrapes all targets each minute until the test ends.
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

// now is how many minutes have passed.
func (m *monitor) now() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.scrapes)
}

// passes waits until so many minutes more have passed.
func (m *monitor) passes(t *testing.T, minutes int) {
	t.Helper()
	until := m.now() + minutes
	testkit.Eventually(t, fmt.Sprintf("%d minutes have passed", minutes), func() error {
		if now := m.now(); now < until {
			return fmt.Errorf("%d are missing", until-now)
		}
		return nil
	})
}

// fires notes that up to now these alerts have fired, and no others; without any, that none fires now. verify finds out
// whether it is so. An alert is named with those of its labels that are in told, as in
// ListfacadeLaneStale{resource="pods"}.
func (m *monitor) fires(alerts ...string) { m.firesBeside(nil, alerts...) }

// firesBeside is fires where others may fire, too, or not, as it happens: their names.
func (m *monitor) firesBeside(others []string, alerts ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expects = append(m.expects, expectation{minute: len(m.scrapes) - 1, alerts: alerts, beside: others})
}

// verify has promtool evaluate the rules over what was scraped, and compares what fires with what was expected.
func (m *monitor) verify(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	series := stretched(m.targets, m.scrapes, m.known)
	m.rules.verify(t, series, m.expects)
}

// metricNames finds the names of metrics in rules.
var metricNames = regexp.MustCompile(`\b(?:apiserver|listfacade)_[a-z0-9_]+`)

// metricsOf are the metrics that rules ask for.
func metricsOf(text string) map[string]bool {
	all := map[string]bool{}
	for _, name := range metricNames.FindAllString(text, -1) {
		all[name] = true
	}
	return all
}

// isCounter tells what only grows.
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
