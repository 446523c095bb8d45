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
		t.Skip("there is no /proc")
	}
	return Process(os.Getpid())
}

func TestCPUGrowsWithWork(t *testing.T) {
	p := self(t)
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	const work = 50 * time.Millisecond // of a processor, however long the machine takes to give it
	for start := spent(t); spent(t)-start < work; {
		runtime.KeepAlive(make([]byte, 1))
	}
	after, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	if after-before < work/2 {
		t.Errorf("%s of work cost %s", work, after-before)
	}
}

// spent is the processor time of this process, as another system call tells it.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestMemoryHoldsWhatIsTouched(t *testing.T) {
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
		t.Errorf("64 MiB more are %d bytes more", grown)
	}
	if after.Peak < after.Resident {
		t.Errorf("the peak %d is below the present %d", after.Peak, after.Resident)
	}
}

func TestResetPeakForgetsWhatWasHeld(t *testing.T) {
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
		t.Errorf("the peak is still %d, with %d resident", m.Peak, m.Resident)
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
		t.Error("processor time of nobody")
	}
	if _, err := gone.Memory(); err == nil {
		t.Error("memory of nobody")
	}
}
