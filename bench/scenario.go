package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// scenario is one measurement on both servers.
type scenario struct {
	name  string
	title string
	about time.Duration // expected duration of the measurement, on two processors
	by    report.Measure
	must  float64 // required ratio; 0: none
	aim   float64
	apart bool  // measured only if -only names it
	load  *load // requests of the clients; nil when measure is set
	// measure fills the result; nil when there is a load.
	measure func(ctx context.Context, s *stage, r *report.Result) error
}

// run measures the scenario.
func (c scenario) run(ctx context.Context, s *stage) (report.Result, error) {
	r := report.Result{Name: c.name, Title: c.title, By: c.by, Must: c.must, Aim: c.aim}
	began := time.Now()
	measure := c.measure
	if c.load != nil {
		measure = func(ctx context.Context, s *stage, r *report.Result) error { return s.compare(ctx, c.name, *c.load, r) }
	}
	err := measure(ctx, s, &r)
	r.Took = time.Since(began)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return r, err
}

// inRows adapts a measurement that adds rows of text.
func inRows(measure func(ctx context.Context, s *stage, t *table) error) func(context.Context, *stage,
	*report.Result) error {
	return func(ctx context.Context, s *stage, r *report.Result) error {
		t := new(table)
		err := measure(ctx, s, t)
		r.Rows = t.rows
		return err
	}
}

// choose returns the selected scenarios, in their order. Each word is a name or a part of names. Without words it
// returns all scenarios whose field apart is false.
func choose(all []scenario, only string) ([]scenario, error) {
	if only == "" {
		return slices.DeleteFunc(slices.Clone(all), func(c scenario) bool { return c.apart }), nil
	}
	chosen := map[string]bool{}
	for word := range strings.SplitSeq(only, ",") {
		matches := func(c scenario) bool { return strings.Contains(c.name, word) }
		if slices.ContainsFunc(all, func(c scenario) bool { return c.name == word }) {
			matches = func(c scenario) bool { return c.name == word }
		}
		found := false
		for _, c := range all {
			if word != "" && matches(c) {
				chosen[c.name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no scenario name contains %q; -list prints the names", word)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c scenario) bool { return !chosen[c.name] }), nil
}

// catalogue prints the scenarios with their durations.
func catalogue(w io.Writer, all []scenario) error {
	var sum time.Duration
	for _, c := range all {
		goal := ""
		if c.apart {
			goal = ", only when it is named"
		} else {
			sum += c.about
		}
		if c.must > 0 {
			goal = fmt.Sprintf(", at least %g times cheaper", c.must)
		}
		if _, err := fmt.Fprintf(w, "%-26s %4.0f s  %s%s\n", c.name, c.about.Seconds(), c.title, goal); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%-26s %4.0f s  with the start of both servers\n", "all", (sum + startsAbout).Seconds())
	return err
}
