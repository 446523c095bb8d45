package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// section is one table with its title.
type section struct{ title, text string }

// Markdown writes all tables.
func (r Results) Markdown(w io.Writer) error {
	return r.write(w, slices.Concat(r.comparisons(), r.details()))
}

// A scenario with at least manyRows rows has its rows in the file of details only.
const manyRows = 12

// comparisons returns the tables of the document.
func (r Results) comparisons() []section {
	return []section{{"Price", r.prices()}, {"Limits", r.promises()}, {"Other figures", r.rows(0, manyRows)}}
}

// details returns the tables of the separate file of details.
func (r Results) details() []section {
	return []section{
		{"Server CPU", r.spreads()}, {"Time", r.times()}, {"Bytes and memory", r.sizes()},
		{"More figures", r.rows(manyRows, math.MaxInt)},
	}
}

// write writes the head of the results and all sections that are not empty.
func (r Results) write(w io.Writer, sections []section) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\nMeasured in %s by\n\n    %s\n", wrap(r.Machine), r.Data, Duration(r.Took), r.Command)
	for _, s := range sections {
		if s.text != "" {
			fmt.Fprintf(&b, "\n### %s\n\n%s", s.title, s.text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grid returns a table whose first column is text and whose other columns are figures. It is empty without rows.
func grid(head []string, lines [][]string) string {
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|---%s|\n", strings.Join(head, " | "), strings.Repeat("|---:", len(head)-1))
	for _, line := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
	}
	return b.String()
}

// prices returns the compared figures with their goals. A herd has a second row for its processor time.
func (r Results) prices() string {
	var lines [][]string
	for _, one := range r.Results {
		if one.By == "" {
			continue
		}
		lines = append(lines, one.priced())
		if one.By == Wall {
			one.By, one.Must, one.Aim = CPU, 0, 0
			lines = append(lines, one.priced())
		}
	}
	return grid([]string{
		"server CPU for an answer", "kube-apiserver", "listfacade", "kube-apiserver behind listfacade", "file server",
		"ratio", "must", "aim", "reached", "listfacade / file server",
	}, lines)
}

func (r Result) priced() []string {
	return []string{
		r.titled(), r.price(r.Direct), r.price(r.Facade), r.behind(), r.price(r.Files),
		r.bound() + ratio(r.Ratio()), ratio(r.Must), ratio(r.Aim), r.Reached(), ratio(r.OverFiles()),
	}
}

// bound returns the mark of a lower bound, "≥ ", if responses of kube-apiserver failed. Otherwise it returns an empty
// string.
func (r Result) bound() string {
	if r.Direct == nil || r.Direct.Failed == 0 {
		return ""
	}
	return "≥ "
}

func (r Result) titled() string {
	if r.By == Wall {
		return r.Title + ": time until the last client is done"
	}
	return r.Title
}

func (r Result) price(f *Figures) string {
	switch {
	case f == nil:
		return ""
	case r.By == Wall:
		return Duration(f.Until) + f.failures()
	default:
		return Duration(f.CPU.Median) + f.failures()
	}
}

func (f *Figures) failures() string {
	if f.Failed == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d failed)", f.Failed)
}

func (r Result) behind() string {
	if r.Facade == nil || r.Facade.Behind == 0 || r.By == Wall {
		return ""
	}
	return Duration(r.Facade.Behind)
}

// Reached returns the goal that a result's ratio reaches: "aim", "must", or "**no**". It is empty if there is no goal
// or no ratio.
func (r Result) Reached() string {
	switch {
	case r.Must == 0 || r.Ratio() == 0:
		return ""
	case r.Facade.Failed > 0:
		return "**no**"
	case r.Ratio() >= r.Aim:
		return "aim"
	case r.Ratio() >= r.Must:
		return "must"
	default:
		return "**no**"
	}
}

func ratio(f float64) string {
	if f == 0 {
		return ""
	}
	return Number(f)
}

// spreads returns the table of processor times with their quartiles.
func (r Results) spreads() string {
	var lines [][]string
	for _, one := range r.Results {
		if one.By != "" {
			lines = append(lines, []string{one.Title, one.Direct.spread(), one.Facade.spread(), one.Files.spread()})
		}
	}
	return grid([]string{"median [quartiles] over blocks", "kube-apiserver", "listfacade", "file server"}, lines)
}

func (f *Figures) spread() string {
	if f == nil {
		return ""
	}
	return f.CPU.String() + f.failures()
}

// times returns the table of latencies at the client.
func (r Results) times() string {
	var lines [][]string
	for _, one := range r.Results {
		if one.Facade != nil && one.Facade.P50 > 0 {
			lines = append(lines, []string{one.Title, one.Direct.times(), one.Facade.times(), one.Files.times()})
		}
	}
	return grid([]string{"p50 / p99 / first byte", "kube-apiserver", "listfacade", "file server"}, lines)
}

func (f *Figures) times() string {
	if f == nil {
		return ""
	}
	return Duration(f.P50) + " / " + Duration(f.P99) + " / " + Duration(f.First)
}

// sizes returns the table of response sizes and memory.
func (r Results) sizes() string {
	var lines [][]string
	for _, one := range r.Results {
		if one.Facade != nil {
			lines = append(lines, []string{one.Title, one.Direct.sizes(), one.Facade.sizes(), one.Files.sizes()})
		}
	}
	return grid([]string{"bytes of an answer / resident / peak", "kube-apiserver", "listfacade", "file server"}, lines)
}

func (f *Figures) sizes() string {
	if f == nil {
		return ""
	}
	return Size(f.Bytes) + " / " + Size(f.Resident) + " / " + Size(f.Peak)
}

// rows returns a table with the rows of all scenarios whose number of rows is at least the first argument and below the
// second one.
func (r Results) rows(least, many int) string {
	var lines [][]string
	for _, one := range r.Results {
		if len(one.Rows) < least || len(one.Rows) >= many {
			continue
		}
		for _, row := range one.Rows {
			lines = append(lines, row[:])
		}
	}
	return grid([]string{"", "kube-apiserver", "listfacade", "ratio"}, lines)
}
