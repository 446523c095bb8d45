package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// table collects rows of text.
type table struct{ rows []report.Row }

func (t *table) add(scenario, direct, facade, ratio string) {
	t.rows = append(t.rows, report.Row{scenario, direct, facade, ratio})
}

func (t *table) addBytes(scenario string, direct, facade int64) {
	t.add(scenario, report.Size(direct), report.Size(facade), times(float64(direct), float64(facade)))
}

func (t *table) addDurations(scenario string, direct, facade time.Duration) {
	t.add(scenario, report.Duration(direct), report.Duration(facade), times(float64(direct), float64(facade)))
}

// addDelays adds quantiles. The delay that the facade adds is computed for each event, so it is not the difference of
// the columns.
func (t *table) addDelays(d delays) {
	for _, row := range []struct {
		name string
		q    float64
	}{{"median", 0.5}, {"99th percentile", 0.99}, {"maximum", 1}} {
		t.add(fmt.Sprintf("PATCH sent until a WATCH of all pods has the event, %s of %d", row.name, len(d.added)),
			report.Duration(quantile(d.direct, row.q)), report.Duration(quantile(d.facade, row.q)),
			fmt.Sprintf("%+.2f ms", float64(quantile(d.added, row.q))/1e6))
	}
}

// times returns the ratio of kube-apiserver's figure to the facade's.
func times(direct, facade float64) string { return report.Number(direct / facade) }

// addReads adds one row for each kind of read. direct may be nil.
func (t *table) addReads(name string, direct, facade *timings) {
	for _, p := range []activity{busy, quiet} {
		for _, verb := range []string{"LIST", "GET"} {
			key := readKey{verb, p}
			var of []time.Duration
			if direct != nil {
				of = direct.taken[key]
			}
			t.addTimes(fmt.Sprintf("%s: %s of a %s kind", name, verb, p), of, facade.taken[key])
		}
	}
}

// addTimes adds a row of percentiles.
func (t *table) addTimes(name string, direct, facade []time.Duration) {
	if len(facade) == 0 {
		return
	}
	left, ratio := "", ""
	if len(direct) > 0 {
		left, ratio = percentiles(direct), times(float64(median(direct)), float64(median(facade)))
	}
	t.add(name+": time, p50 / p90 / p99 / maximum", left, percentiles(facade), ratio)
}

func percentiles(values []time.Duration) string {
	var all []string
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		all = append(all, report.Duration(quantile(values, q)))
	}
	return strings.Join(all, " / ")
}
