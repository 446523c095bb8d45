// Command tally reads the output of `go test -json` of one or more runs. It prints a table of suites with their times
// and results, and how often each test failed. A line {"Stage": "name"} in between names the runs that follow. Output
// of a failed test is printed as soon as the test has ended. The command fails if a test failed or none ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	t, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "tally: %v\n", err)
		os.Exit(2)
	}
	if err := t.print(os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "tally: %v\n", err)
		os.Exit(2)
	}
	if !t.good() {
		os.Exit(1)
	}
}

// event is a line of `go test -json`, or a stage line.
type event struct {
	Action, Package, ImportPath, Test, Output, Stage string
	Elapsed                                          float64 // seconds
}

// read tallies all events. It copies lines that are not JSON, such as messages of the go command.
func read(in io.Reader, out io.Writer) (*tally, error) {
	t := newTally()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				_, _ = out.Write(line)
			} else if text := t.note(e); text != "" {
				_, _ = io.WriteString(out, text)
			}
		}
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
	}
}
