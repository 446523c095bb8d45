package incidents

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// inputSeries is a series in promtool's format.
type inputSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// stretched returns the series of the scrapes, with one minute between two scrapes.
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

// ups returns the series "up", which shows the successful scrapes.
func ups(scrapes []scrape) string {
	var words []string
	for _, s := range scrapes {
		words = append(words, map[bool]string{true: "1", false: "0"}[s.values != nil])
	}
	return strings.Join(words, " ")
}

// values returns the values of a series. A series that ends is marked as stale, as Prometheus does.
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

// point is a scraped value, and the value in simulated minutes.
type point struct {
	at         time.Time
	raw, grown float64
}

// next returns the following point. The increase of a counter between two scrapes is scaled to a minute.
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

// shown converts a value to the time of the series, which starts at 0 and has one minute per scrape. Durations are
// scaled. Times in the future keep their distance.
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
