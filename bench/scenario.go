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

// scenario is one thing that is measured, on both servers.
type scenario struct {
	name  string
	title string
	about time.Duration // that it takes to measure, on two processors
	by    report.Measure
	must  float64 // the ratio that is promised; 0: none
	aim   float64
	apart bool  // it is measured only when it is named: what it says is for people, in a section of its own
	load  *load // what clients ask; nil when measure does something else
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

// inRows is a measurement whose result are figures in words.
func inRows(measure func(ctx context.Context, s *stage, t *table) error) func(context.Context, *stage, *report.Result) error {
	return func(ctx context.Context, s *stage, r *report.Result) error {
		t := new(table)
		err := measure(ctx, s, t)
		r.Rows = t.rows
		return err
	}
}

// choose picks the scenarios that are named, in their order: each word is a name or a part of some; no word is
// all that are not measured apart.
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
			return nil, fmt.Errorf("no scenario has %q in its name; -list prints them", word)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c scenario) bool { return !chosen[c.name] }), nil
}

// catalogue prints the scenarios.
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
