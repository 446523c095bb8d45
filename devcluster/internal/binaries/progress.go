package binaries

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// progressEvery is how often a build that takes longer reports how far it is.
const progressEvery = 10 * time.Second

// linkShare is the part of a build from nothing that the linker takes, which "go build -v" does not report.
const linkShare = 0.05

// leastPart is the part of a build below which the time that it took so far says nothing about the rest.
const leastPart = 0.02

// sizes returns the bytes of Go in each package that is not in the build cache, by import path; the compiler's work is
// proportional to them. Without an answer of go there is no estimate, and the build itself reports why.
func (b *build) sizes(ctx context.Context, binaries []binary) map[string]int64 {
	args := slices.Concat([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,Stale"}, b.flags, packages(binaries))
	out, err := goCommand(ctx, b.module, args...).Output()
	if err != nil {
		return nil
	}
	sizes := make(map[string]int64)
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			Stale           bool // or a package that it imports is
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return sizes
		} else if err != nil {
			return nil
		}
		if !p.Stale {
			continue
		}
		for _, name := range p.GoFiles {
			if info, err := os.Stat(filepath.Join(p.Dir, name)); err == nil {
				sizes[p.ImportPath] += info.Size()
			}
		}
	}
}

// buildOutput collects what "go build -v" prints: the name of every package that it compiles, and errors.
type buildOutput struct {
	total map[string]int64 // bytes of Go of every package that is compiled

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (b *buildOutput) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

// progress returns how far the build is after some time, and about how long the rest takes.
func (b *buildOutput) progress(took time.Duration) string {
	var done, total int64
	for _, size := range b.total {
		total += size
	}
	lines := b.lines()
	for _, line := range lines {
		done += b.total[string(line)]
	}
	part := (1 - linkShare) * float64(done) / float64(max(total, 1))
	if part < leastPart {
		return fmt.Sprintf("%d packages compiled in %.0f s", len(lines), took.Seconds())
	}
	left := time.Duration(float64(took) * (1 - part) / part)
	return fmt.Sprintf("%.0f %% (%d of %d packages) in %.0f s, about %.0f s left",
		100*part, len(lines), len(b.total), took.Seconds(), left.Seconds())
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
