package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// section is one table with its title.
type section struct{ title, text string }

// Markdown writes all tables.
func (r Results) Markdown(w io.Writer) error {
	return r.write(w, slices.Concat(r.comparisons(), r.details()))
}

// comparisons are the tables of the document.
func (r Results) comparisons() []section {
	return []section{{"Price", r.prices()}, {"Held to", r.promises()}, {"Other figures", r.rows()}}
}

// details are the tables of a file of their own. They have as many lines as there are scenarios.
func (r Results) details() []section {
	return []section{{"Time", r.times()}, {"Bytes and memory", r.sizes()}}
}

// write writes the head of the results and those sections that are not empty.
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

// grid is a table whose first column is text and whose others are figures. It is empty without lines.
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

// prices are what the scenarios are compared by, beside what they are held to. Herds have their processor time as well.
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
		"scenario", "kube-apiserver", "listfacade", "kube-apiserver behind it", "file server", "ratio", "must", "aim", "reached",
		"listfacade / file server",
	}, lines)
}

func (r Result) priced() []string {
	return []string{
		r.titled(), r.price(r.Direct), r.price(r.Facade), r.behind(), r.price(r.Files),
		r.bound() + ratio(r.Ratio()), ratio(r.Must), ratio(r.Aim), r.Reached(), ratio(r.OverFiles()),
	}
}

// bound says that kube-apiserver would have taken more if all its answers had been whole.
func (r Result) bound() string {
	if r.Direct == nil || r.Direct.Failed == 0 {
		return ""
	}
	return "≥ "
}

func (r Result) titled() string {
	if r.By == Wall {
		return r.Title + ": time until the last has everything"
	}
	return r.Title + ": server CPU"
}

func (r Result) price(f *Figures) string {
	switch {
	case f == nil:
		return ""
	case r.By == Wall:
		return Duration(f.Until) + f.failures()
	default:
		return f.CPU.String() + f.failures()
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

// Reached says how far a result is: the aim, the must, or neither.
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

// times are what a client sees.
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

// sizes are what is sent and what is held meanwhile.
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

func (r Results) rows() string {
	var lines [][]string
	for _, one := range r.Results {
		for _, row := range one.Rows {
			lines = append(lines, row[:])
		}
	}
	return grid([]string{"", "kube-apiserver", "listfacade", "ratio"}, lines)
}
