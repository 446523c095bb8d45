package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/listfacade/listfacade/bench/internal/plot"
)

// Files of the results, below a directory of documents.
const (
	document = "benchmarks.md"
	assets   = "benchmarks"
	// ResultsFile is the name of the JSON file.
	ResultsFile = "results.json"
	detailsFile = "details.txt"
)

// picture is one plot. value returns the duration that a bar shows. The plot has no bar for 0.
type picture struct {
	file, title string
	value       func(*Figures) time.Duration
}

var pictures = []picture{
	{"cpu.svg", "Server CPU for one answer, logarithmic; with kube-apiserver's CPU behind the facade",
		func(f *Figures) time.Duration {
			return f.CPU.Median + f.Behind
		}},
	{"time.svg", "Time until the client has the complete answer (herds: the last client), logarithmic",
		func(f *Figures) time.Duration {
			if f.Until > 0 {
				return f.Until
			}
			return f.P50
		}},
}

// Publish writes the results below a directory: JSON, plots, the section of the document, and the details.
func (r Results) Publish(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, assets), 0o755); err != nil {
		return fmt.Errorf("create a directory for results: %w", err)
	}
	if err := r.Write(filepath.Join(dir, assets, ResultsFile)); err != nil {
		return err
	}
	var section bytes.Buffer
	for _, p := range pictures {
		chart := r.chart(p)
		if len(chart.Groups) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, assets, p.file), chart.SVG(), 0o644); err != nil {
			return fmt.Errorf("write a plot: %w", err)
		}
		fmt.Fprintf(&section, "![%s](%s/%s)\n\n", strings.SplitN(p.title, ",", 2)[0], assets, p.file)
	}
	if err := r.write(&section, r.comparisons()); err != nil {
		return err
	}
	if err := r.publishDetails(filepath.Join(dir, assets, detailsFile)); err != nil {
		return err
	}
	return replaceIn(filepath.Join(dir, document), section.Bytes())
}

func (r Results) publishDetails(path string) error {
	var details bytes.Buffer
	if err := r.write(&details, r.details()); err != nil {
		return err
	}
	if err := os.WriteFile(path, details.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the details of results: %w", err)
	}
	return nil
}

// chart returns the bar chart of a plot, with a group of bars for each scenario.
func (r Results) chart(p picture) plot.Chart {
	chart := plot.Chart{Title: p.title, Series: []string{"kube-apiserver", "listfacade", "file server"},
		Label: func(v float64) string {
			return Duration(time.Duration(v))
		}}
	for _, one := range r.Results {
		group := plot.Group{Name: one.Title}
		for _, f := range []*Figures{one.Direct, one.Facade, one.Files} {
			value := time.Duration(0)
			if f != nil {
				value = p.value(f)
			}
			group.Values = append(group.Values, float64(value))
		}
		if group.Values[0] > 0 && group.Values[1] > 0 {
			chart.Groups = append(chart.Groups, group)
		}
	}
	return chart
}
