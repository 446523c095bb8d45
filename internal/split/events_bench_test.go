package split

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkEvents sends events to 64 clients that watch through the proxy; an event of 15 kB is one of a pod in JSON.
// Facade and clients run in another process, so that the CPU time of the proxy is known, and is alone in profiles.
func BenchmarkEvents(b *testing.B) {
	for _, size := range []int{2 << 10, 15 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			others := startWatchers(b)
			address := others.ask(b, "")
			run := start(b, startFake(b, nil), []*fake{startFake(b, nil)}, func(o *Options) {
				o.Facades = []string{address} // with the certificate of the fake
			})
			others.ask(b, fmt.Sprintf("%s %d", run.url, size))
			for range 50 { // until buffers have their final size
				others.took(b, "event")
			}
			own, other := spent(), others.took(b, "spent")
			var latencies []time.Duration
			for b.Loop() {
				latencies = append(latencies, others.took(b, "event"))
			}
			events := float64(b.N * watchers)
			b.ReportMetric(float64(spent()-own)/events, "cpu-ns/event")
			b.ReportMetric(float64(others.took(b, "spent")-other)/events, "others-cpu-ns/event")
			slices.Sort(latencies)
			b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds()), "us-median")
		})
	}
}

// spent returns the CPU time of this process.
func spent() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// otherProcess is a process with runWatchers.
type otherProcess struct {
	in  io.Writer
	out *bufio.Reader
}

func startWatchers(b *testing.B) *otherProcess {
	b.Helper()
	command := exec.CommandContext(b.Context(), os.Args[0]) //nolint:gosec // this program
	command.Env, command.Stderr = append(os.Environ(), watchersOf+"=1"), os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	return &otherProcess{in: in, out: bufio.NewReader(out)}
}

// ask sends a line unless it is empty, and returns the next line of the process.
func (p *otherProcess) ask(b *testing.B, line string) string {
	b.Helper()
	if line != "" {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			b.Fatal(err)
		}
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

func (p *otherProcess) took(b *testing.B, line string) time.Duration {
	b.Helper()
	d, err := time.ParseDuration(p.ask(b, line))
	if err != nil {
		b.Fatal(err)
	}
	return d
}
