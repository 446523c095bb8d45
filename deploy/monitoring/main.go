// Command monitoring writes the Grafana dashboard of listfacade, in JSON, to its standard output:
//
//	go run ./deploy/monitoring > deploy/monitoring/dashboard.json
//
// What is asked for stands in panels.go, how Grafana wants it in grafana.go. The package's tests hold that the file is
// what the command writes; that each query of it and of the rules in prometheusrule.yaml names metrics that there are;
// that each alert fires, and does not, as promtool finds; and that docs/runbook.md has a section for each.
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

// write writes the dashboard as it is checked in.
func write(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(newDashboard())
}
