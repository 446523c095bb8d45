package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// section is a heading of the runbook with what stands below it.
var section = regexp.MustCompile(`(?m)^## (\w+)\n((?:[^#\n].*\n|\n)*)`)

// TestRunbook: each alert has a section that says what it means, what to look at and what to do, and a link to it; and
// each section is an alert's.
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
			t.Errorf("%s has no section", r.Alert)
			continue
		}
		for _, part := range []string{"**Means**", "**Look**", "**Do**"} {
			if !strings.Contains(said, part) {
				t.Errorf("%s: the section has no %s", r.Alert, part)
			}
		}
		if url := r.Annotations["runbook_url"]; !strings.HasSuffix(url, "/docs/runbook.md#"+strings.ToLower(r.Alert)) {
			t.Errorf("%s: its runbook_url is %s", r.Alert, url)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning" {
			t.Errorf("%s: %v %v", r.Alert, r.Labels, r.Annotations)
		}
	}
	for name := range sections {
		if !alerts[name] {
			t.Errorf("the runbook has a section %s, and no alert has that name", name)
		}
	}
	if len(alerts) < 10 {
		t.Errorf("%d alerts", len(alerts))
	}
}
