package testkit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Answered returns how many requests to the facade a source has answered. The source is cache, upstream or facade.
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

// FromCache runs questions, and fails the test if the facade does not answer all of them from the cache. A comparison
// does not show this, because a forwarded answer is always equal. The facade forwards a question if kube-apiserver is
// too busy to confirm that the cache is fresh. FromCache then repeats the questions. Other requests must not reach this
// facade meanwhile.
func (o *Oracle) FromCache(t testing.TB, questions func()) {
	t.Helper()
	Eventually(t, "the cache answers all questions", func() error {
		forwarded, answered := o.Answered(t, "upstream"), o.Answered(t, "cache")
		questions()
		n := o.Answered(t, "upstream") - forwarded
		switch {
		case t.Failed(): // more answers would not help
			return nil
		case n != 0:
			return fmt.Errorf("%d questions were passed on to the upstream", n)
		case o.Answered(t, "cache") == answered:
			return errors.New("the cache answered nothing")
		}
		return nil
	})
}
