package proc

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"
)

func self(t *testing.T) Process {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	return Process(os.Getpid())
}

func TestCPUGrowsWithWork(t *testing.T) {
	p := self(t)
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	const work = 50 * time.Millisecond // processor time, independent of the wall-clock time
	for start := spent(t); spent(t)-start < work; {
		runtime.KeepAlive(make([]byte, 1))
	}
	after, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	if after-before < work/2 {
		t.Errorf("got %[2]s for %[1]s of work", work, after-before)
	}
}

// spent returns the processor time of this process from another system call.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestMemoryGrowsWithTouchedPages(t *testing.T) {
	p := self(t)
	before, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	block := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		block[i] = 1
	}
	after, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(block)
	if grown := after.Resident - before.Resident; grown < size/2 {
		t.Errorf("got a growth of %d bytes after 64 MiB were touched", grown)
	}
	if after.Peak < after.Resident {
		t.Errorf("got a peak of %d below the resident %d", after.Peak, after.Resident)
	}
}

func TestResetPeakForgetsFreedMemory(t *testing.T) {
	p := self(t)
	const size = 256 << 20
	block := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		block[i] = 1
	}
	runtime.KeepAlive(block)
	block = nil
	debug.FreeOSMemory()
	if err := p.ResetPeak(); err != nil {
		t.Fatal(err)
	}
	m, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if m.Peak > m.Resident+size/2 {
		t.Errorf("got a peak of %d after the reset, with %d resident", m.Peak, m.Resident)
	}
}

func TestCommandLine(t *testing.T) {
	args, err := self(t).CommandLine()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(args, os.Args) {
		t.Errorf("got %q, started as %q", args, os.Args)
	}
}

func TestNoSuchProcess(t *testing.T) {
	gone := Process(1 << 30) // above every limit of process ids
	if _, err := gone.CPU(); err == nil {
		t.Error("got processor time of a missing process")
	}
	if _, err := gone.Memory(); err == nil {
		t.Error("got memory of a missing process")
	}
}
