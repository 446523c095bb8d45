package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// section matches a heading of the runbook with its text.
var section = regexp.MustCompile(`(?m)^## (\w+)\n((?:[^#\n].*\n|\n)*)`)

// TestRunbook checks that each alert has a runbook section with its meaning, where to look and what to do, that its
// runbook_url names the section, and that each section belongs to an alert.
func TestRunbook(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, found := range section.FindAllStringSubmatch(string(text), -1) {
		sections[found[1]] = found[2]
	}
	alerts := map[string]bool{}
	_, all := rules(t)
	for _, r := range all {
		if r.Alert == "" {
			continue
		}
		alerts[r.Alert] = true
		said, ok := sections[r.Alert]
		if !ok {
			t.Errorf("got no runbook section for %s, want one", r.Alert)
			continue
		}
		for _, part := range []string{"**Means**", "**Look**", "**Do**"} {
			if !strings.Contains(said, part) {
				t.Errorf("got no %s in the runbook section of %s, want one", part, r.Alert)
			}
		}
		if url := r.Annotations["runbook_url"]; url != "docs/runbook.md#"+strings.ToLower(r.Alert) {
			t.Errorf("got runbook_url %s for %s, want its runbook section", url, r.Alert)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning" {
			t.Errorf("got labels %v and annotations %v for %s, want severity, summary and description",
				r.Labels, r.Annotations, r.Alert)
		}
	}
	for name := range sections {
		if !alerts[name] {
			t.Errorf("got runbook section %s, want only sections of alerts", name)
		}
	}
	if len(alerts) < 10 {
		t.Errorf("got %d alerts, want at least 10", len(alerts))
	}
}
