package main

import (
	"fmt"
	"strings"
	"time"
)

// table is the report, a row for each figure.
type table struct{ rows [][4]string }

func (t *table) add(scenario, direct, facade, ratio string) {
	t.rows = append(t.rows, [4]string{scenario, direct, facade, ratio})
}

// String is the table in Markdown.
func (t *table) String() string {
	var b strings.Builder
	b.WriteString("| scenario | kube-apiserver | listfacade | ratio |\n|---|---:|---:|---:|\n")
	for _, row := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row[:], " | "))
	}
	return b.String()
}

func (t *table) addBytes(scenario string, direct, facade int64) {
	t.add(scenario, megabytes(direct), megabytes(facade), times(float64(direct), float64(facade)))
}

func (t *table) addStarts(direct, facade startCost) {
	t.add("start to ready, all pods cached: time", spell(direct.took), spell(facade.took), times(float64(direct.took), float64(facade.took)))
	t.add("start to ready, all pods cached: server CPU", spell(direct.cpu), spell(facade.cpu), times(float64(direct.cpu), float64(facade.cpu)))
	t.add("CPU of kube-apiserver while the facade reads all pods from it", "", spell(facade.behind), "")
	t.addBytes("resident memory, all pods cached, nothing asked yet", direct.resident, facade.resident)
}

// addCosts adds a row for the servers' processor time, with quartiles, one for what the facade cost kube-apiserver if
// it had to ask it, and one for what the client sees.
func (t *table) addCosts(q question, c costs) {
	cpu := func(c cost) time.Duration { return c.cpu }
	wall := func(c cost) time.Duration { return c.wall }
	name := fmt.Sprintf("%s, %s, %s", q.name, q.encoding, strings.TrimSuffix(string(q.protocol), ".0"))
	a, b := each(c.direct, cpu), each(c.facade, cpu)
	t.add(name+": server CPU", spread(a), spread(b), times(float64(median(a)), float64(median(b))))
	if q.asks {
		behind := each(c.facade, func(c cost) time.Duration { return c.behind })
		t.add(name+": CPU of kube-apiserver", spread(a), spread(behind), times(float64(median(a)), float64(median(behind))))
	}
	a, b = each(c.direct, wall), each(c.facade, wall)
	t.add(name+": time",
		spell(median(a))+" for "+megabytes(c.direct[0].bytes), spell(median(b))+" for "+megabytes(c.facade[0].bytes),
		times(float64(median(a)), float64(median(b))))
}

// addDelays adds quantiles. What the facade adds is taken event by event, so it is not the difference of the columns.
func (t *table) addDelays(d delays) {
	for _, row := range []struct {
		name string
		q    float64
	}{{"median", 0.5}, {"99th percentile", 0.99}, {"maximum", 1}} {
		t.add(fmt.Sprintf("PATCH sent until a WATCH of all pods has the event, %s of %d", row.name, len(d.added)),
			spell(quantile(d.direct, row.q)), spell(quantile(d.facade, row.q)), fmt.Sprintf("%+.2f ms", float64(quantile(d.added, row.q))/1e6))
	}
}

func each(costs []cost, value func(cost) time.Duration) []time.Duration {
	values := make([]time.Duration, len(costs))
	for i, c := range costs {
		values[i] = value(c)
	}
	return values
}

// spread is the median with the quartiles.
func spread(values []time.Duration) string {
	return fmt.Sprintf("%s [%s, %s]", spell(median(values)), spell(quantile(values, 0.25)), spell(quantile(values, 0.75)))
}

// spell prints a duration.
func spell(d time.Duration) string {
	switch {
	case d >= time.Second:
		return digits(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return digits(float64(d)/1e6) + " ms"
	default:
		return digits(float64(d)/1e3) + " µs"
	}
}

// times is how many times as much kube-apiserver took.
func times(direct, facade float64) string { return digits(direct / facade) }

// digits prints a number with about three digits, which is as many as repeat from run to run.
func digits(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

// addReads adds a row for each sort of read. direct may be nil.
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

// addTimes adds percentiles of times.
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
		all = append(all, spell(quantile(values, q)))
	}
	return strings.Join(all, " / ")
}
