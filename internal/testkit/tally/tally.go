package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// key is a package in a stage, or one of its tests.
type key struct{ stage, pkg, test string }

type result struct {
	runs, failures, skips int
	seconds               float64
}

// tally counts the results of packages and tests. order is the order of their first results.
type tally struct {
	stage   string
	results map[key]*result
	order   []key
	output  map[key][]string // of tests and packages that have not ended
}

func newTally() *tally {
	return &tally{results: map[key]*result{}, output: map[key][]string{}}
}

// note counts one event. It returns the output of a test or package that has just failed.
func (t *tally) note(e event) string {
	if e.Stage != "" {
		t.stage = e.Stage
		return ""
	}
	if e.Package == "" { // the output of a build
		e.Package = e.ImportPath
	}
	k := key{t.stage, strings.TrimPrefix(e.Package, "github.com/listfacade/listfacade/"), e.Test}
	switch e.Action {
	case "output", "build-output":
		t.output[k] = append(t.output[k], e.Output)
	case "pass", "fail", "skip":
		return t.ended(k, e)
	}
	return ""
}

func (t *tally) ended(k key, e event) string {
	r := t.results[k]
	if r == nil {
		r = &result{}
		t.results[k] = r
		t.order = append(t.order, k)
	}
	r.runs++
	r.seconds += e.Elapsed
	text := ""
	switch e.Action {
	case "fail":
		r.failures++
		text = strings.Join(t.output[k], "")
	case "skip":
		r.skips++
	}
	delete(t.output, k)
	return text
}

// good reports whether something ran and nothing failed.
func (t *tally) good() bool {
	ran := false
	for _, r := range t.results {
		if r.failures > 0 {
			return false
		}
		ran = ran || r.runs > r.skips
	}
	return ran
}

// print writes the table of suites, and below it a table of the failed tests with their rates.
func (t *tally) print(out io.Writer) error {
	suites := t.rows("suite", func(k key, r *result) bool { return k.test == "" && r.runs > r.skips })
	failed := t.rows("test", func(k key, r *result) bool { return k.test != "" && r.failures > 0 })
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if _, err := io.WriteString(table, suites+failed); err != nil {
		return err
	}
	return table.Flush()
}

// rows returns a table of the wanted results; empty if there are none.
func (t *tally) rows(title string, wanted func(key, *result) bool) string {
	var text strings.Builder
	for _, k := range t.order {
		if r := t.results[k]; wanted(k, r) {
			fmt.Fprintf(&text, "%s\t%.0f\t%s\n", k, r.seconds, r)
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return "\n" + title + "\tseconds\tresult\n" + text.String()
}

func (k key) String() string {
	name := strings.TrimSpace(k.pkg + " " + k.test)
	if k.stage != "" {
		name += " (" + k.stage + ")"
	}
	return name
}

func (r *result) String() string {
	if r.failures == 0 {
		return "ok"
	}
	return fmt.Sprintf("failed %d of %d", r.failures, r.runs)
}
