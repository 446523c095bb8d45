package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// ruleFile is the part of a PrometheusRule that Prometheus reads.
type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

type ruleGroup struct {
	Name     string `json:"name"`
	Interval string `json:"interval,omitempty"`
	Rules    []rule `json:"rules"`
}

type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// rules reads the PrometheusRule, and returns it with a list of its rules.
func rules(t *testing.T) (file ruleFile, all []rule) {
	t.Helper()
	var object struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
		Spec             ruleFile
	}
	readYAML(t, "prometheusrule.yaml", &object)
	for _, group := range object.Spec.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("got %d rules, want at least 20", len(all))
	}
	return object.Spec, all
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// promtool runs Debian's promtool in a directory with the rules and rules_test.yaml.
func promtool(t *testing.T, file ruleFile, args ...string) {
	t.Helper()
	program := suite.Promtool(t)
	dir := t.TempDir()
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("rules_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"rules.yaml": text, "rules_test.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = dir
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}

// TestRules checks with promtool that each alert fires in the cases of rules_test.yaml, and only there.
func TestRules(t *testing.T) {
	settings.Long(t)
	file, _ := rules(t)
	promtool(t, file, "test", "rules", "rules_test.yaml")
}

// TestEveryAlertIsTried checks that each alert has a case in which it fires, and one in which it does not.
func TestEveryAlertIsTried(t *testing.T) {
	var cases struct {
		RuleFiles          []string `json:"rule_files"`
		EvaluationInterval string   `json:"evaluation_interval"`
		Tests              []struct {
			Name, Interval string
			InputSeries    []struct{ Series, Values string } `json:"input_series"`
			AlertRuleTest  []struct {
				Alertname string
				EvalTime  string `json:"eval_time"`
				ExpAlerts []struct {
					ExpLabels      map[string]any    `json:"exp_labels"`
					ExpAnnotations map[string]string `json:"exp_annotations"`
				} `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	readYAML(t, "rules_test.yaml", &cases)
	tried := map[string]bool{}
	for _, c := range cases.Tests {
		for _, try := range c.AlertRuleTest {
			tried[try.Alertname] = true
			if len(try.ExpAlerts) == 0 {
				tried[try.Alertname+" "] = true
			}
			for _, alert := range try.ExpAlerts {
				tried[fmt.Sprintf("%s %v%v", try.Alertname, alert.ExpLabels["severity"], alert.ExpLabels["long"])] = true
			}
		}
	}
	_, all := rules(t)
	for _, r := range all {
		if r.Alert == "" {
			continue
		}
		for what, key := range map[string]string{
			"fires": fmt.Sprintf("%s %v%v", r.Alert, r.Labels["severity"], longOf(r)), "does not fire": r.Alert + " ",
		} {
			if !tried[key] {
				t.Errorf("got no case in which %s %v %s, want one", r.Alert, r.Labels, what)
			}
		}
		delete(tried, r.Alert)
	}
	for key := range tried {
		if !strings.Contains(key, " ") {
			t.Errorf("got a case of %s, which is not an alert", key)
		}
	}
}

// longOf returns the label long of an alert, or nil, which prints like a missing label.
func longOf(r rule) any {
	if long, ok := r.Labels["long"]; ok {
		return long
	}
	return nil
}
