package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/listfacade/listfacade/internal/metrics"
)

// TestDashboardIsAsWritten checks that dashboard.json is the output of the command.
func TestDashboardIsAsWritten(t *testing.T) {
	var want bytes.Buffer
	if err := write(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("run go run ./deploy/monitoring > deploy/monitoring/dashboard.json:\n%s", diff)
	}
}

// queries returns the queries of the dashboard, with values for its variables.
func queries() (all []string) {
	chosen := strings.NewReplacer("$__rate_interval", "5m", "$pod", ".*", "$resource", ".*")
	for _, p := range newDashboard().Panels {
		for _, target := range p.Targets {
			all = append(all, chosen.Replace(target.Expr))
		}
	}
	return all
}

// TestQueriesAreUnderstood checks that promtool parses each query.
func TestQueriesAreUnderstood(t *testing.T) {
	dashboard := ruleGroup{Name: "dashboard"}
	for i, query := range queries() {
		dashboard.Rules = append(dashboard.Rules, rule{Record: fmt.Sprint("query:", i), Expr: query})
	}
	if len(dashboard.Rules) < 40 {
		t.Fatalf("got %d queries, want at least 40", len(dashboard.Rules))
	}
	promtool(t, ruleFile{Groups: []ruleGroup{dashboard}}, "check", "rules", "rules.yaml")
}

var (
	// names matches metrics of the facade and recording rules.
	names = regexp.MustCompile(`\b(apiserver_|listfacade[_:]|kubernetes_|process_|go_)[a-zA-Z0-9_:]+|\bup\b`)
	// described matches the name in a metric's description.
	described = regexp.MustCompile(`fqName: "([^"]+)"`)
	// parts matches the suffixes of a histogram's series.
	parts = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestQueriesNameMetrics checks that each metric in the dashboard and the rules is registered by the facade or recorded
// by a rule.
func TestQueriesNameMetrics(t *testing.T) {
	known := registered()
	_, all := rules(t)
	asked := queries()
	for _, r := range all {
		asked = append(asked, r.Expr)
		if r.Record != "" {
			known[r.Record] = true
		}
	}
	if len(known) < 50 {
		t.Fatalf("got %d known metrics, want at least 50", len(known))
	}
	for _, query := range asked {
		found := names.FindAllString(query, -1)
		if len(found) == 0 {
			t.Errorf("got no metric in %s, want one", query)
		}
		for _, name := range found {
			if !known[name] && !known[parts.ReplaceAllString(name, "")] {
				t.Errorf("got unknown metric %s in %s", name, query)
			}
		}
	}
}

// registered returns the metrics of a facade, of a splitting proxy, and those of Prometheus itself.
func registered() map[string]bool {
	facade := metrics.New(metrics.Sources{
		Lanes: func() []metrics.LaneStats { return nil }, Precompressed: func() metrics.PrecompressedStats { return metrics.PrecompressedStats{} },
		Memory: func() metrics.MemoryStats { return metrics.MemoryStats{} }, Certificates: func() []metrics.Certificate { return nil },
		Audit: func() (metrics.AuditBacklog, bool) { return metrics.AuditBacklog{}, false }, Endpoints: func() []metrics.Endpoint { return nil },
		Reviews:   func() []metrics.ReviewStats { return nil },
		Journal:   func() (metrics.JournalStats, bool) { return metrics.JournalStats{}, false },
		SelfAudit: time.Hour,
	})
	known, descriptions := map[string]bool{"up": true}, make(chan *prom.Desc, 1000) // more than there are
	facade.Describe(descriptions)
	metrics.NewSplit(func() []metrics.SplitTarget { return nil }, func() []metrics.Certificate { return nil }).Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		if found := described.FindStringSubmatch(d.String()); found != nil {
			known[found[1]] = true
		}
	}
	return known
}
