package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Results are the results of one run.
type Results struct {
	Machine string        `json:"machine"`
	Data    string        `json:"data"`
	Command string        `json:"command"` // command that repeats the run
	Took    time.Duration `json:"took"`    // in nanoseconds, like all durations here
	Results []Result      `json:"results"`
}

// Result is the result of one scenario: figures to compare, or rows of text for other measurements.
type Result struct {
	Name  string        `json:"name"`
	Title string        `json:"title"`
	Took  time.Duration `json:"took"` // including the comparison of the responses
	By    Measure       `json:"by,omitempty"`
	Must  float64       `json:"must,omitempty"` // required ratio; 0: none
	Aim   float64       `json:"aim,omitempty"`  // desired ratio

	Direct *Figures `json:"direct,omitempty"` // kube-apiserver's
	Facade *Figures `json:"facade,omitempty"`
	Files  *Figures `json:"files,omitempty"` // of the bare file server; nil if it was not measured

	Rows []Row `json:"rows,omitempty"`
}

// Measure is the figure by which the servers of a scenario are compared.
type Measure string

const (
	// CPU is a server's processor time for one response.
	CPU Measure = "cpu"
	// Wall is the time from the start of a herd until the last client has the complete response.
	Wall Measure = "wall"
)

// Row is one row of text: name, kube-apiserver's figure, the facade's figure, their ratio.
type Row [4]string

// Figures are the figures of one server in one scenario. Durations are per response unless stated otherwise.
type Figures struct {
	CPU      Spread        `json:"cpu"`    // of the measured server, over blocks
	Behind   time.Duration `json:"behind"` // of kube-apiserver without its idle load, while the facade was measured
	P50      time.Duration `json:"p50"`    // until the last byte, including the client's own work
	P99      time.Duration `json:"p99"`
	First    time.Duration `json:"first"` // until the first byte of the body, median
	Until    time.Duration `json:"until"` // of a herd: until the last client has its response, median over herds
	Bytes    int64         `json:"bytes"` // of the body, as sent
	Resident int64         `json:"resident"`
	Peak     int64         `json:"peak"` // resident, peak over all blocks
	Answers  int           `json:"answers"`
	Failed   int           `json:"failed,omitempty"` // failed responses of a herd; included only in CPU
}

// Spread is a median with its quartiles.
type Spread struct {
	Median time.Duration `json:"median"`
	Low    time.Duration `json:"low"`
	High   time.Duration `json:"high"`
}

// value returns the compared figure: the processor time of both servers for one response, or a herd's time.
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

// Ratio returns kube-apiserver's figure divided by the facade's; 0 if one of them was not measured.
func (r Result) Ratio() float64 { return over(r.value(r.Direct), r.value(r.Facade)) }

// OverFiles returns the facade's own figure divided by the file server's figure; 0 if one of them was not measured.
func (r Result) OverFiles() float64 {
	if r.By == CPU && r.Facade != nil { // without kube-apiserver's part
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
		return r, fmt.Errorf("parse results from %s: %w", path, err)
	}
	return r, nil
}

// Write writes the results as JSON.
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
