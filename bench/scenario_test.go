package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/bench/internal/dataset"
)

func TestScenariosAreComplete(t *testing.T) {
	small := dataset.D1
	small.Applications = 1 // keeps the test fast
	seen := map[string]bool{}
	took := startsAbout
	for _, c := range scenarios(small) {
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(c.name) || seen[c.name] {
			t.Errorf("%q is not a unique name that can be a file name", c.name)
		}
		seen[c.name] = true
		if c.title == "" || strings.Contains(c.title, "|") || c.about == 0 {
			t.Errorf("%s: title %q, about %s", c.name, c.title, c.about)
		}
		if (c.load == nil) == (c.measure == nil) {
			t.Errorf("%s: needs either a load or a measure function", c.name)
		}
		if c.aim < c.must || c.must > 0 && c.by == "" || c.load != nil && c.by == "" {
			t.Errorf("%s: must %g, aim %g, by %q", c.name, c.must, c.aim, c.by)
		}
		if q := c.load; q != nil && (q.question.encoding == "" || q.question.protocol == "" || !strings.HasPrefix(q.question.path, "/api")) {
			t.Errorf("%s: incomplete question %+v", c.name, q.question)
		}
		if !c.apart {
			took += c.about
		}
	}
	if took > 21*time.Minute {
		t.Errorf("all scenarios take %s, want at most 21m", took)
	}
}

func TestChoose(t *testing.T) {
	all := []scenario{{name: "get"}, {name: "get-8"}, {name: "list-gzip"}, {name: "list-gzip-http1"}, {name: "memory"}, {name: "flood", apart: true}}
	for only, want := range map[string][]string{
		"":           {"get", "get-8", "list-gzip", "list-gzip-http1", "memory"},
		"list":       {"list-gzip", "list-gzip-http1"},
		"list-gzip":  {"list-gzip"}, // a complete name selects only that scenario
		"flood":      {"flood"},
		"memory,get": {"get", "memory"},
		"mem,-8":     {"get-8", "memory"},
		"nothing":    nil,
		"get,":       nil,
	} {
		chosen, err := choose(all, only)
		var got []string
		for _, c := range chosen {
			got = append(got, c.name)
		}
		if !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%q: got %v, %v, want %v", only, got, err, want)
		}
	}
}
