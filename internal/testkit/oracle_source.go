package testkit

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Answered returns how many requests of the facade were answered by a source: cache, upstream or facade.
func (o *Oracle) Answered(t testing.TB, source string) int {
	t.Helper()
	if o.Counts != nil {
		return o.Counts(source)
	}
	metrics := o.Facade.ask(t, Question{Path: "/metrics"})
	total := 0.0
	for lines := bufio.NewScanner(bytes.NewReader(metrics.Body)); lines.Scan(); {
		series, value, ok := strings.Cut(lines.Text(), "} ")
		if !ok || !strings.HasPrefix(series, "listfacade_requests_total{") ||
			!strings.Contains(series, fmt.Sprintf("source=%q", source)) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("metrics: %q: %v", lines.Text(), err)
		}
		total += n
	}
	return int(total)
}

// FromCache runs questions, and fails the test if the facade forwarded any of them, because a forwarded answer is equal
// in any case. No other request may reach this facade meanwhile.
func (o *Oracle) FromCache(t testing.TB, questions func()) {
	t.Helper()
	forwarded, answered := o.Answered(t, "upstream"), o.Answered(t, "cache")
	questions()
	if n := o.Answered(t, "upstream") - forwarded; n != 0 {
		t.Errorf("%d questions were passed on to the upstream, want all answered from the cache", n)
	}
	if o.Answered(t, "cache") == answered {
		t.Error("the cache answered nothing")
	}
}
