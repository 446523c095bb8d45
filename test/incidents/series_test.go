package incidents

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// inputSeries is a series as promtool reads it.
type inputSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// stretched are the series of what was scraped, each scrape a minute after the one before.
func stretched(targets []*target, scrapes [][]scrape, known kinds) []inputSeries {
	var all []inputSeries
	for i, g := range targets {
		var of []scrape
		names := map[string]bool{}
		for _, minute := range scrapes {
			of = append(of, minute[i])
			for series := range minute[i].values {
				names[series] = true
			}
		}
		all = append(all, inputSeries{Series: `up{` + g.labels() + `,metrics_path="/metrics"}`, Values: ups(of)})
		for _, series := range slices.Sorted(maps.Keys(names)) {
			all = append(all, inputSeries{Series: series, Values: values(series, of, known)})
		}
	}
	return all
}

// ups says which scrapes were answered.
func ups(scrapes []scrape) string {
	var words []string
	for _, s := range scrapes {
		words = append(words, map[bool]string{true: "1", false: "0"}[s.values != nil])
	}
	return strings.Join(words, " ")
}

// values are those of a series. Where it is not there any more it is stale, as Prometheus marks it.
func values(series string, scrapes []scrape, known kinds) string {
	name := nameOf(series)
	var words []string
	var last *point
	for i, s := range scrapes {
		value, ok := s.values[series]
		switch {
		case !ok && last == nil:
			words = append(words, "_")
		case !ok:
			words, last = append(words, "stale"), nil
		default:
			last = last.next(point{at: s.at, raw: value}, known.isCounter(name))
			words = append(words, strconv.FormatFloat(shown(name, last, scrapes, i), 'g', -1, 64))
		}
	}
	return strings.Join(words, " ")
}

// point is a value, as it was and as it is after as many minutes.
type point struct {
	at         time.Time
	raw, grown float64
}

// next is the point that follows. What a counter has grown by in the time between two scrapes it would have grown by
// again and again in a minute.
func (p *point) next(q point, counter bool) *point {
	q.grown = q.raw
	if p != nil && counter {
		more := q.raw - p.raw
		if more < 0 { // the process is another
			more = q.raw
		}
		q.grown = p.grown + more*float64(time.Minute)/float64(q.at.Sub(p.at))
	}
	return &q
}

// shown is a value in the time of the series, which begins at 0 and has a minute from scrape to scrape: what says for
// how long something has been is that much longer, and what says when something will be is as far ahead as it is.
func shown(name string, p *point, scrapes []scrape, i int) float64 {
	switch {
	case strings.HasSuffix(name, "_stale_seconds"):
		lasted := minute
		if i > 0 {
			lasted = scrapes[i].at.Sub(scrapes[i-1].at)
		}
		return p.raw * float64(time.Minute) / float64(lasted)
	case strings.HasSuffix(name, "_timestamp_seconds"):
		now := float64(scrapes[i].at.UnixMilli()) / 1000
		return p.raw - now + float64(i*60)
	default:
		return p.grown
	}
}
