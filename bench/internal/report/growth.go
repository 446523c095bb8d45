package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/plot"
)

// Growth is the cost of a facade in front of upstreams of several sizes.
type Growth struct {
	Machine string        `json:"machine"`
	Command string        `json:"command"` // command that repeats the run
	Took    time.Duration `json:"took"`    // in nanoseconds, like all durations here
	Sizes   []Grown       `json:"sizes"`   // ascending
}

// Grown is the cost for one size. Memory is in bytes.
type Grown struct {
	Objects     int            `json:"objects"`
	Facade      string         `json:"facade"` // commit from which the facade was built
	Load        string         `json:"load"`   // one-minute load average, before and after the measurement
	Fill        time.Duration  `json:"fill"`   // from the facade's start until it is ready
	FillCPU     time.Duration  `json:"fillCPU"`
	UpstreamCPU time.Duration  `json:"upstreamCPU"` // while the facade was filled
	Peak        int64          `json:"peak"`        // resident, peak while the facade was filled
	Filled      int64          `json:"filled"`      // resident, when the facade was ready
	Resident    int64          `json:"resident"`    // resident, after a garbage collection
	Live        int64          `json:"live"`        // heap, after a garbage collection
	Reads       []GrownRead    `json:"reads"`
	Watches     []GrownWatches `json:"watches"`
}

// GrownRead is the cost of one question that was repeated.
type GrownRead struct {
	Title string        `json:"title"`
	First time.Duration `json:"first"` // first response for each target, median
	P50   time.Duration `json:"p50"`
	P99   time.Duration `json:"p99"`
	CPU   time.Duration `json:"cpu"` // of the facade, for one response
	Bytes int64         `json:"bytes"`
}

// GrownWatches is the cost of watches that were open at the same time.
type GrownWatches struct {
	Title    string        `json:"title"`
	Watches  int           `json:"watches"`
	Changes  int           `json:"changes"`
	Live     int64         `json:"live"` // heap and stacks of each watch
	Resident int64         `json:"resident"`
	P50      time.Duration `json:"p50"` // from a change until its last watch received it
	P99      time.Duration `json:"p99"`
	CPU      time.Duration `json:"cpu"` // of the facade, for one change
}

// GrowthFile is the name of the JSON file.
const GrowthFile = "million.json"

// ReadGrowth reads the results that Publish wrote below a directory of documents. If there is no file, it returns an
// empty Growth.
func ReadGrowth(dir string) (g Growth, err error) {
	data, err := os.ReadFile(filepath.Join(dir, assets, GrowthFile))
	if errors.Is(err, fs.ErrNotExist) {
		return g, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		return g, fmt.Errorf("read results: %w", err)
	}
	return g, nil
}

// With returns the results together with those of the sizes that only the other run measured.
func (g Growth) With(other Growth) Growth {
	g.Sizes = slices.Clone(g.Sizes)
	for _, size := range other.Sizes {
		if !slices.ContainsFunc(g.Sizes, func(s Grown) bool { return s.Objects == size.Objects }) {
			g.Sizes = append(g.Sizes, size)
		}
	}
	slices.SortFunc(g.Sizes, func(a, b Grown) int { return a.Objects - b.Objects })
	return g
}

// Publish writes the results as JSON and as plots below a directory of documents.
func (g Growth) Publish(dir string) error {
	dir = filepath.Join(dir, assets)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create a directory for results: %w", err)
	}
	data, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	files := map[string][]byte{GrowthFile: append(data, '\n'), "growth-memory.svg": g.memory().SVG(),
		"growth-time.svg": g.times().SVG()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}

// grownRow is one row of the table.
type grownRow struct {
	name  string
	value func(Grown) string
}

// Markdown writes the results as a table with a column for each size.
func (g Growth) Markdown(w io.Writer) error {
	if len(g.Sizes) == 0 {
		return nil
	}
	head, lines := []string{"objects"}, [][]string{}
	for _, size := range g.Sizes {
		head = append(head, strconv.Itoa(size.Objects))
	}
	for _, row := range g.Sizes[0].rows() {
		line := []string{row.name}
		for _, size := range g.Sizes {
			line = append(line, row.value(size))
		}
		lines = append(lines, line)
	}
	_, err := fmt.Fprintf(w, "%s\n\nMeasured in %s by\n\n    %s\n\n%s", wrap(g.Machine), Duration(g.Took), g.Command,
		grid(head, lines))
	return err
}

// rows returns the rows of the table.
func (s Grown) rows() []grownRow {
	rows := []grownRow{
		{"facade of", func(s Grown) string { return s.Facade }},
		{"load average, before / after", func(s Grown) string { return s.Load }},
		{"filled: time", func(s Grown) string { return Duration(s.Fill) }},
		{"filled: CPU of the facade", func(s Grown) string { return Duration(s.FillCPU) }},
		{"filled: CPU of the facade, for each object",
			func(s Grown) string { return Duration(s.FillCPU / time.Duration(s.Objects)) }},
		{"resident, peak while the lane was filled", func(s Grown) string { return Size(s.Peak) }},
		{"resident, after a garbage collection", func(s Grown) string { return Size(s.Resident) }},
		{"live heap", func(s Grown) string { return Size(s.Live) }},
		{"live heap, for each object", func(s Grown) string { return Size(s.Live / int64(s.Objects)) }},
	}
	for i, read := range s.Reads {
		rows = append(rows,
			grownRow{read.Title + ": time, first / p50 / p99", func(s Grown) string {
				return strings.Join([]string{Duration(s.Reads[i].First), Duration(s.Reads[i].P50), Duration(s.Reads[i].P99)}, " / ")
			}},
			grownRow{read.Title + ": CPU", func(s Grown) string { return Duration(s.Reads[i].CPU) }})
	}
	for i, watches := range s.Watches {
		rows = append(rows,
			grownRow{watches.Title + ": time from a change until all watches have the event, p50 / p99", func(s Grown) string {
				return Duration(s.Watches[i].P50) + " / " + Duration(s.Watches[i].P99)
			}},
			grownRow{watches.Title + ": CPU of a change", func(s Grown) string { return Duration(s.Watches[i].CPU) }},
			grownRow{watches.Title + ", each: heap and stacks", func(s Grown) string { return Size(s.Watches[i].Live) }})
	}
	return rows
}

// memory returns the curves of memory.
func (g Growth) memory() plot.Curves {
	return g.curves("Memory over objects, both logarithmic", func(v float64) string { return Size(int64(v)) }, []grownLine{
		{"resident, peak while the lane was filled", func(s Grown) float64 { return float64(s.Peak) }},
		{"resident, after a garbage collection", func(s Grown) float64 { return float64(s.Resident) }},
		{"live heap", func(s Grown) float64 { return float64(s.Live) }},
	})
}

// times returns the curves of durations.
func (g Growth) times() plot.Curves {
	var lines []grownLine
	for i, read := range g.Sizes[0].Reads {
		lines = append(lines, grownLine{read.Title, func(s Grown) float64 { return float64(s.Reads[i].P50) }})
	}
	for i, watches := range g.Sizes[0].Watches {
		lines = append(lines, grownLine{"an event to " + watches.Title,
			func(s Grown) float64 { return float64(s.Watches[i].P50) }})
	}
	return g.curves("Time over objects (medians), both logarithmic",
		func(v float64) string { return Duration(time.Duration(v)) }, lines)
}

// grownLine is one curve.
type grownLine struct {
	name  string
	value func(Grown) float64
}

func (g Growth) curves(title string, label func(float64) string, lines []grownLine) plot.Curves {
	c := plot.Curves{Title: title, LabelY: label,
		LabelX: func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }}
	for _, size := range g.Sizes {
		c.X = append(c.X, float64(size.Objects))
	}
	for _, line := range lines {
		one := plot.Line{Name: line.name}
		for _, size := range g.Sizes {
			one.Values = append(one.Values, line.value(size))
		}
		c.Lines = append(c.Lines, one)
	}
	return c
}
