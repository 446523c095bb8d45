package binaries

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// progressEvery is how often a build that takes longer says how far it is.
const progressEvery = 10 * time.Second

// compile builds one program beside its final place and moves it there.
func (b *build) compile(ctx context.Context, p Program, path string) error {
	start := time.Now()
	temporary := filepath.Join(b.bin, fmt.Sprintf(".%s.%d", p, os.Getpid()))
	defer func() { _ = os.Remove(temporary) }() // gone after the rename
	var output buildOutput
	command := goCommand(ctx, b.module, "build", "-v", "-trimpath", "-ldflags", b.flags, "-o", temporary, p.mainPackage())
	command.Stdout, command.Stderr = &output, &output
	fmt.Fprintf(b.progress, "building %s\n", p)
	if err := whileReporting(command.Run, func() {
		fmt.Fprintf(b.progress, "building %s: %.0f s, %s\n", p, time.Since(start).Seconds(), output.progress())
	}); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p, err, output.tail())
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("put %s in place: %w", p, err)
	}
	fmt.Fprintf(b.progress, "built %s in %.1f s\n", p, time.Since(start).Seconds())
	return nil
}

// whileReporting calls report every progressEvery until work is done.
func whileReporting(work func() error, report func()) error {
	result := make(chan error, 1)
	go func() { result <- work() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-result:
			return err
		case <-tick.C:
			report()
		}
	}
}

// buildOutput collects what "go build -v" prints: the name of every package that it compiles, and errors.
type buildOutput struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *buildOutput) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

// progress says how far the build is. Packages from the build cache are not printed, so the number has no known end.
func (b *buildOutput) progress() string {
	lines := b.lines()
	if len(lines) == 0 {
		return "reading the module cache or linking"
	}
	return fmt.Sprintf("%d packages compiled, now %s", len(lines), lines[len(lines)-1])
}

// tail is the end of the output, where the errors are.
func (b *buildOutput) tail() []byte {
	const enough = 30
	lines := b.lines()
	return bytes.Join(lines[max(0, len(lines)-enough):], []byte("\n"))
}

func (b *buildOutput) lines() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := bytes.TrimSpace(bytes.Clone(b.text.Bytes()))
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(text, []byte("\n"))
}
