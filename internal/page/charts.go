package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/oplog"
)

// chart is a chart of the last 15 minutes. Its positions are in units of the viewBox of its SVG element.
type chart struct {
	ID, Title string
	// Says describes the chart in words, for screen readers.
	Says   string
	Series []series
	Kind   string // line, or empty for bars
	Lines  []line
}

type series struct {
	Name, Class, Path string
	Last              string // latest value of the series
}

type line struct {
	Y    float64
	Text string
}

// The area of the data in the viewBox 0 0 400 120. Labels are to the left of the area and below it.
const (
	chartLeft, chartRight  = 44.0, 398.0
	chartTop, chartBottom  = 8.0, 100.0
	chartHeight            = chartBottom - chartTop
	barWidth               = (chartRight - chartLeft) / oplog.HistorySteps
	shortestDrawn, decades = 1e-3, 5 // range of latencies: 1 ms to 100 s
)

// bars draws one bar for each moment. A bar stacks the values of the parts.
func bars(id, title, unit string, moments []oplog.Moment, parts []part) chart {
	c := chart{ID: id, Title: title}
	highest, last := 0.0, &oplog.Moment{}
	if len(moments) > 1 {
		last = &moments[len(moments)-2] // the last moment has not ended
	}
	sums := make([]float64, len(moments))
	for i := range moments {
		for _, p := range parts {
			sums[i] += p.of(&moments[i])
		}
		highest = max(highest, sums[i])
	}
	top := rounded(highest)
	for _, half := range []float64{1, 0.5} {
		c.Lines = append(c.Lines, line{Y: chartBottom - half*chartHeight, Text: short(top * half)})
	}
	c.Lines = append(c.Lines, line{Y: chartBottom, Text: "0"})
	below := make([]float64, len(moments))
	var now []string
	for _, p := range parts {
		var path strings.Builder
		for i := range moments {
			value := p.of(&moments[i])
			if value <= 0 {
				continue
			}
			y := chartBottom - (below[i]+value)/top*chartHeight
			fmt.Fprintf(&path, "M%.1f %.1fh%.1fv%.1fh-%.1fz", chartLeft+float64(i)*barWidth, y, barWidth-0.6,
				value/top*chartHeight, barWidth-0.6)
			below[i] += value
		}
		shown := short(p.of(last)) + unit
		c.Series = append(c.Series, series{Name: p.name, Class: p.class, Path: path.String(), Last: shown})
		now = append(now, p.name+" "+shown)
	}
	c.Says = fmt.Sprintf("%s in the last 15 minutes; the maximum was %s%s. In the last ten seconds: %s.", title,
		short(highest), unit, strings.Join(now, ", "))
	return c
}

type part struct {
	name, class string
	of          func(*oplog.Moment) float64
}

func perSecond(count func(*oplog.Moment) int) func(*oplog.Moment) float64 {
	return func(m *oplog.Moment) float64 { return float64(count(m)) / oplog.HistoryStep.Seconds() }
}

// times draws each part, a duration, as a line on a logarithmic scale from 1 ms to 100 s.
func times(id, title string, moments []oplog.Moment, parts []part) chart {
	c := chart{ID: id, Title: title, Kind: "line"}
	for decade, name := range []string{"1ms", "10ms", "100ms", "1s", "10s", "100s"} {
		c.Lines = append(c.Lines, line{Y: chartBottom - float64(decade)/decades*chartHeight, Text: name})
	}
	var now []string
	for _, p := range parts {
		var path strings.Builder
		drawing, last := false, 0.0
		for i := range moments {
			value := p.of(&moments[i])
			if value <= 0 {
				continue // no requests: the line connects the neighbouring moments
			}
			last = value
			level := min(max(math.Log10(value/shortestDrawn)/decades, 0), 1)
			command := "L"
			if !drawing {
				command, drawing = "M", true
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", command, chartLeft+(float64(i)+0.5)*barWidth, chartBottom-level*chartHeight)
			if command == "M" {
				path.WriteString("h0.01") // makes a single point visible
			}
		}
		shown := "–"
		if last > 0 {
			shown = duration(seconds(last))
		}
		c.Series = append(c.Series, series{Name: p.name, Class: p.class, Path: path.String(), Last: shown})
		now = append(now, p.name+" "+shown)
	}
	c.Says = title + " in the last 15 minutes. Latest value: " + strings.Join(now, ", ") + "."
	return c
}

func charts(s *Status) []chart {
	return []chart{
		bars("rate", "Requests per second", "/s", s.History, []part{
			{"cache", "c1", perSecond(func(m *oplog.Moment) int { return m.Cache })},
			{"kube-apiserver", "c2", perSecond(func(m *oplog.Moment) int { return m.Upstream })},
			{"refused by the facade", "c3", perSecond(func(m *oplog.Moment) int { return m.Facade })},
		}),
		times("latency", "Request duration", s.History, []part{
			{"99 %", "c2", func(m *oplog.Moment) float64 { return m.P99Seconds }},
			{"median", "c1", func(m *oplog.Moment) float64 { return m.P50Seconds }},
		}),
		bars("asked", "Requests to kube-apiserver per second", "/s", s.History, []part{
			{"answered", "c1", perSecond(func(m *oplog.Moment) int { return m.Asked - m.Unanswered - m.Throttled })},
			{"429", "c2", perSecond(func(m *oplog.Moment) int { return m.Throttled })},
			{"no response", "cbad", perSecond(func(m *oplog.Moment) int { return m.Unanswered })},
		}),
		times("waited", "Response time of kube-apiserver", s.History, []part{
			{"99 %", "c2", func(m *oplog.Moment) float64 { return m.AskedP99Seconds }},
		}),
	}
}

// rounded rounds up to a value of the series 1, 2, 5, 10 ..., and to at least 0.2.
func rounded(value float64) float64 {
	if value <= 0.2 {
		return 0.2
	}
	power := math.Pow(10, math.Floor(math.Log10(value)))
	for _, step := range []float64{1, 2, 5, 10} {
		if value <= step*power*1.0000001 {
			return step * power
		}
	}
	return 10 * power
}

func short(value float64) string {
	switch {
	case value >= 10_000:
		return strconv.FormatFloat(value/1000, 'f', 0, 64) + "k"
	case value >= 10:
		return count(int64(math.Round(value)))
	}
	return strconv.FormatFloat(math.Round(value*10)/10, 'f', -1, 64)
}

// stack is a bar that shows memory by kind. Its full length stands for the largest of three numbers: the budget, the
// used and the mapped memory.
type stack struct {
	Says  string
	Parts []stacked
	Mark  float64 // position of the budget, from 0 to 400; 0 if there is no budget
}

type stacked struct {
	Name, Class, Text string
	X, Width          float64
}

// stackOf draws the kinds of memory, then the used memory that belongs to no kind, and then the remaining mapped
// memory.
func stackOf(m *Memory) stack {
	const width = 400.0
	whole := float64(max(m.Budget, m.Used, m.Mapped, 1))
	var b stack
	at, counted := 0.0, int64(0)
	add := func(name, class string, bytes int64) {
		if bytes <= 0 {
			return
		}
		w := float64(bytes) / whole * width
		b.Parts = append(b.Parts, stacked{Name: name, Class: class, Text: size(bytes), X: at, Width: w})
		at += w
	}
	for i, kind := range m.Kinds {
		add(kind.Name, "c"+strconv.Itoa(1+i%6), kind.Bytes)
		counted += kind.Bytes
	}
	add("other used memory", "crest", m.Used-counted)
	add("garbage and unused memory of Go", "cfree", m.Mapped-max(m.Used, counted))
	says := []string{"Memory: " + size(m.Used) + " used"}
	if m.Budget > 0 {
		b.Mark = float64(m.Budget) / whole * width
		says = append(says, "of "+size(m.Budget))
	}
	b.Says = strings.Join(says, " ")
	return b
}

type figure struct{ Name, Value, Note, Class string }

func figures(s *Status) []figure {
	var all, cached int
	for _, m := range recent(s) {
		all, cached = all+m.Cache+m.Upstream+m.Facade, cached+m.Cache
	}
	fs := []figure{{Name: "Requests", Value: short(float64(all)/Window.Seconds()) + "/s", Note: "in 5 minutes"}}
	if all > 0 {
		fs = append(fs, figure{Name: "From the cache", Value: fmt.Sprintf("%.1f%%", 100*float64(cached)/float64(all)),
			Note: "in 5 minutes"})
	}
	p99 := 0.0
	for _, m := range recent(s) {
		p99 = max(p99, m.P99Seconds)
	}
	if p99 > 0 {
		fs = append(fs, figure{Name: "99 % within", Value: duration(seconds(p99)), Note: "worst 10 s of 5 min"})
	}
	synced := 0
	for i := range s.Lanes {
		if s.Lanes[i].State == Synced {
			synced++
		}
	}
	fs = append(fs, figure{Name: "Lanes synced", Value: fmt.Sprintf("%d of %d", synced, len(s.Lanes))},
		figure{Name: "Open watches", Value: count(s.Watches.Total)},
		figure{Name: "In flight", Value: count(s.Requests.Total), Note: "requests"})
	memory := figure{Name: "Memory", Value: size(s.Memory.Used), Note: "no budget"}
	if s.Memory.Budget > 0 {
		memory.Note = fmt.Sprintf("%d%% of %s", 100*s.Memory.Used/s.Memory.Budget, size(s.Memory.Budget))
	}
	fs = append(fs, memory)
	if j := s.Journal; j != nil && j.Open {
		fs = append(fs, figure{Name: "Journal", Value: size(j.Bytes),
			Note: "written " + duration(seconds(j.LagSeconds)) + " ago"})
	}
	up := figure{Name: "kube-apiserver", Value: "responds", Class: "good", Note: s.Upstream.Endpoint}
	if silent := seconds(s.Upstream.SilentSeconds); silent > 0 {
		up.Value, up.Class = "silent "+duration(silent), "bad"
	}
	age := duration(s.At.Sub(s.Process.Started).Truncate(time.Second))
	return append(fs, savedFigure(s), up,
		figure{Name: "Up", Value: age, Note: "since " + s.Process.Started.UTC().Format("Jan 2 15:04")})
}

// savedFigure returns the estimated CPU that the facade saved kube-apiserver since the start, as an average number of
// processors. The CPU for the facade's own requests is subtracted.
func savedFigure(s *Status) figure {
	up := max(s.At.Sub(s.Process.Started).Seconds(), 1)
	return figure{
		Name: "CPU saved", Value: processors((s.Saved.CPU - s.Saved.Caused) / up), Note: "processors, est.",
	}
}

func processors(n float64) string {
	if math.Abs(n) < 10 {
		return strconv.FormatFloat(math.Round(100*n)/100+0, 'f', 2, 64) // never -0.00
	}
	return count(int64(math.Round(n)))
}
