package incidents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// rules are the alert rules of deploy/monitoring, in Prometheus' format.
type rules struct {
	text    []byte
	metrics map[string]bool // that they ask for
}

func readRules(t *testing.T) rules {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "monitoring", "prometheusrule.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Spec map[string]any }
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	r := rules{metrics: metricsOf(string(text))}
	if r.text, err = yaml.Marshal(object.Spec); err != nil {
		t.Fatal(err)
	}
	return r
}

// told are the labels of alerts that tests compare.
const told = "alertname, resource, review, account, certificate, plugin, pod"

// tried is a test in promtool's format.
type tried struct {
	Interval       string         `json:"interval"`
	InputSeries    []inputSeries  `json:"input_series"`
	PromqlExprTest []expectedExpr `json:"promql_expr_test"`
}

type expectedExpr struct {
	Expr       string           `json:"expr"`
	EvalTime   string           `json:"eval_time"`
	ExpSamples []expectedSample `json:"exp_samples"`
}

type expectedSample struct {
	Labels string  `json:"labels"`
	Value  float64 `json:"value"`
}

// verify runs a promtool test of the times at which alerts fire.
func (r rules) verify(t *testing.T, series []inputSeries, expects []expectation) {
	t.Helper()
	test := tried{Interval: "1m", InputSeries: series}
	for _, e := range expects {
		firing := fmt.Sprintf(`ALERTS{alertstate="firing",alertname!~"%s"}`, strings.Join(e.beside, "|"))
		if len(e.alerts) > 0 {
			firing = fmt.Sprintf("max_over_time(%s[%dm])", firing, e.minute+1)
		}
		expr := expectedExpr{Expr: "group by (" + told + ") (" + firing + ")", EvalTime: fmt.Sprintf("%dm", e.minute), ExpSamples: []expectedSample{}}
		for _, alert := range e.alerts {
			expr.ExpSamples = append(expr.ExpSamples, expectedSample{Labels: labelsOf(alert), Value: 1})
		}
		test.PromqlExprTest = append(test.PromqlExprTest, expr)
	}
	text, err := yaml.Marshal(map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m", "tests": []tried{test}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"rules.yaml": r.text, "test.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), suite.Promtool(t), "test", "rules", "test.yaml")
	command.Dir = dir
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("unexpected alerts: %v\n%s", err, said)
	}
}

// labelsOf returns an alert's labels, including its name.
func labelsOf(alert string) string {
	name, labels, _ := strings.Cut(strings.TrimSuffix(alert, "}"), "{")
	all := fmt.Sprintf("{alertname=%q", name)
	if labels != "" {
		all += "," + labels
	}
	return all + "}"
}
