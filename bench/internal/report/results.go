package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Results are those of one run.
type Results struct {
	Machine string        `json:"machine"`
	Data    string        `json:"data"`
	Command string        `json:"command"` // that repeats the run
	Took    time.Duration `json:"took"`    // in nanoseconds, as all times here
	Results []Result      `json:"results"`
}

// Result is that of one scenario: figures to compare, or rows in words for what is measured in another way.
type Result struct {
	Name  string        `json:"name"`
	Title string        `json:"title"`
	Took  time.Duration `json:"took"` // to measure it, with the comparison of the answers
	By    Measure       `json:"by,omitempty"`
	Must  float64       `json:"must,omitempty"` // the ratio that is promised; 0: none
	Aim   float64       `json:"aim,omitempty"`  // the ratio that is wished for

	Direct *Figures `json:"direct,omitempty"` // kube-apiserver's
	Facade *Figures `json:"facade,omitempty"`
	Files  *Figures `json:"files,omitempty"` // the bare file server's; nil where there is nothing to compare

	Rows []Row `json:"rows,omitempty"`
}

// Measure is what the servers of a scenario are compared by.
type Measure string

const (
	// CPU is a server's processor time for one answer.
	CPU Measure = "cpu"
	// Wall is the time from the start of a herd until the last client has everything.
	Wall Measure = "wall"
)

// Row is one figure in words: what, kube-apiserver's, the facade's, their ratio.
type Row [4]string

// Figures are those of one server in one scenario. Times are those of one answer, if nothing else is said.
type Figures struct {
	CPU      Spread        `json:"cpu"`    // of the server that was asked, over blocks
	Behind   time.Duration `json:"behind"` // of kube-apiserver beyond its idling, while the facade was asked
	P50      time.Duration `json:"p50"`    // until the last byte, the client's own work included, over answers
	P99      time.Duration `json:"p99"`
	First    time.Duration `json:"first"` // until the first byte of the body, the median
	Until    time.Duration `json:"until"` // of a herd, until the last client has everything, the median over herds
	Bytes    int64         `json:"bytes"` // of the body, as sent
	Resident int64         `json:"resident"`
	Peak     int64         `json:"peak"` // resident, the most in any block
	Answers  int           `json:"answers"`
	Failed   int           `json:"failed,omitempty"` // answers of a herd, refused or cut off: only CPU has them
}

// Spread is a median with the quartiles.
type Spread struct {
	Median time.Duration `json:"median"`
	Low    time.Duration `json:"low"`
	High   time.Duration `json:"high"`
}

// value is what a scenario compares: the processor time of both servers that it takes for an answer, or a herd's time.
func (r Result) value(f *Figures) time.Duration {
	switch {
	case f == nil:
		return 0
	case r.By == Wall:
		return f.Until
	default:
		return f.CPU.Median + f.Behind
	}
}

// Ratio is how many times as much kube-apiserver takes; 0 if it was not measured.
func (r Result) Ratio() float64 { return over(r.value(r.Direct), r.value(r.Facade)) }

// OverFiles is how many times as much as the bare file server the facade itself takes; 0 if that was not measured.
func (r Result) OverFiles() float64 {
	if r.By == CPU && r.Facade != nil { // what is behind the facade is no matter of how it sends bytes
		return over(r.Facade.CPU.Median, r.value(r.Files))
	}
	return over(r.value(r.Facade), r.value(r.Files))
}

func over(a, b time.Duration) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Find returns the result of a scenario.
func (r Results) Find(name string) (Result, bool) {
	for _, result := range r.Results {
		if result.Name == name {
			return result, true
		}
	}
	return Result{}, false
}

// Read reads results that Write wrote.
func Read(path string) (Results, error) {
	var r Results
	data, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("read results: %w", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read results from %s: %w", path, err)
	}
	return r, nil
}

// Write writes results as JSON.
func (r Results) Write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
