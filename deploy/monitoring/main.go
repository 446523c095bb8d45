// Command monitoring writes the Grafana dashboard of listfacade, in JSON, to its standard output:
//
//	go run ./deploy/monitoring > deploy/monitoring/dashboard.json
//
// rows.go has the queries, panels.go the layout, and grafana.go Grafana's format. The tests of this package check that
// the file is current, and that all queries and the rules in prometheusrule.yaml use existing metrics. They also check
// that alerts fire as rules_test.yaml says, and that docs/runbook.md has a section for each alert.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(newDashboard())
}
