package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Process is the ID of a running process.
type Process int

// CPU returns the processor time of all threads so far, in nanoseconds: the sum of their schedstat. Threads that have
// ended are not included. A Go program usually keeps its threads.
func (p Process) CPU() (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has no threads in /proc: %w", p, os.ErrNotExist)
	}
	var sum time.Duration
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		running, _, _ := bytes.Cut(data, []byte(" "))
		n, err := strconv.ParseInt(string(running), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time from %s: %w", file, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

// Busy returns the processor time that all processes of the machine have used so far, in steps of a hundredth of a
// second.
func Busy() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	words := bytes.Fields(line) // cpu user nice system idle iowait irq softirq ...
	if len(words) < 8 {
		return 0, fmt.Errorf("read processor time from %q", line)
	}
	var sum time.Duration
	for _, at := range []int{1, 2, 3, 6, 7} {
		n, err := strconv.ParseInt(string(words[at]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time from %q: %w", line, err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// Memory is the memory of a process, in bytes.
type Memory struct {
	Resident int64 // VmRSS
	Peak     int64 // VmHWM, the peak of resident memory
}

// Memory returns the current memory of the process.
func (p Process) Memory() (Memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return Memory{}, fmt.Errorf("read memory: %w", err)
	}
	resident, err := kilobytes(status, "VmRSS:")
	if err != nil {
		return Memory{}, err
	}
	peak, err := kilobytes(status, "VmHWM:")
	return Memory{Resident: resident, Peak: peak}, err
}

// ResetPeak resets Peak to the current resident memory.
func (p Process) ResetPeak() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak of memory: %w", err)
	}
	return nil
}

// kilobytes returns the value of a line like "VmRSS:        123 kB", in bytes.
func kilobytes(status []byte, field string) (int64, error) {
	for line := range bytes.Lines(status) {
		words := bytes.Fields(line)
		if len(words) == 3 && string(words[0]) == field {
			n, err := strconv.ParseInt(string(words[1]), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in the status", field)
}

// CommandLine returns the arguments with which the process was started.
func (p Process) CommandLine() ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
	if err != nil {
		return nil, fmt.Errorf("read command line: %w", err)
	}
	var args []string
	for word := range bytes.SplitSeq(bytes.TrimRight(data, "\x00"), []byte{0}) {
		args = append(args, string(word))
	}
	return args, nil
}
