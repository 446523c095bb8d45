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

	"github.com/listfacade/listfacade/internal/observe"
)

// TestDashboardIsAsWritten: the file is what the command writes.
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

// queries are those of the dashboard, with values in the place of what its reader chooses.
func queries() (all []string) {
	chosen := strings.NewReplacer("$__rate_interval", "5m", "$pod", ".*", "$resource", ".*")
	for _, p := range newDashboard().Panels {
		for _, target := range p.Targets {
			all = append(all, chosen.Replace(target.Expr))
		}
	}
	return all
}

// TestQueriesAreUnderstood: Prometheus' own parser reads each of them.
func TestQueriesAreUnderstood(t *testing.T) {
	dashboard := ruleGroup{Name: "dashboard"}
	for i, query := range queries() {
		dashboard.Rules = append(dashboard.Rules, rule{Record: fmt.Sprint("query:", i), Expr: query})
	}
	if len(dashboard.Rules) < 40 {
		t.Fatalf("%d queries", len(dashboard.Rules))
	}
	promtool(t, ruleFile{Groups: []ruleGroup{dashboard}}, "check", "rules", "rules.yaml")
}

var (
	// names are those of metrics that are the facade's, or recorded of them.
	names = regexp.MustCompile(`\b(apiserver_|listfacade[_:]|kubernetes_|process_|go_)[a-zA-Z0-9_:]+|\bup\b`)
	// described is the name in a description.
	described = regexp.MustCompile(`fqName: "([^"]+)"`)
	// parts are the series of a histogram.
	parts = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestQueriesNameMetrics: every metric that the dashboard and the rules ask for is one that the facade has, or a rule
// records.
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
		t.Fatalf("%d metrics are known", len(known))
	}
	for _, query := range asked {
		found := names.FindAllString(query, -1)
		if len(found) == 0 {
			t.Errorf("%s asks for nothing", query)
		}
		for _, name := range found {
			if !known[name] && !known[parts.ReplaceAllString(name, "")] {
				t.Errorf("%s asks for %s, which there is not", query, name)
			}
		}
	}
}

// registered are the metrics of a facade, and Prometheus' own.
func registered() map[string]bool {
	metrics := observe.NewMetrics(observe.Sources{
		Lanes: func() []observe.LaneStats { return nil }, Precompressed: func() observe.PrecompressedStats { return observe.PrecompressedStats{} },
		Memory: func() observe.MemoryStats { return observe.MemoryStats{} }, Certificates: func() []observe.Certificate { return nil },
		Audit: func() (observe.AuditBacklog, bool) { return observe.AuditBacklog{}, false }, Endpoints: func() []observe.Endpoint { return nil },
		SelfAudit: time.Hour,
	})
	known, descriptions := map[string]bool{"up": true}, make(chan *prom.Desc)
	go func() { defer close(descriptions); metrics.Describe(descriptions) }()
	for d := range descriptions {
		if found := described.FindStringSubmatch(d.String()); found != nil {
			known[found[1]] = true
		}
	}
	return known
}
