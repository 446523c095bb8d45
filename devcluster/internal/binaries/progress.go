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

const progressEvery = 10 * time.Second

// linkShare is the linker's share of the time of a build from scratch. "go build -v" does not report the linker.
const linkShare = 0.05

// leastPart is the minimum completed share of a build for an estimate of the remaining time.
const leastPart = 0.02

// sizes returns the size of the Go files of each package that is not in the build cache, by import path. The time of
// the compiler is proportional to the size. If go list fails, there is no estimate, and the build itself reports the
// error.
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
			Stale           bool // whether the package, or one that it imports, is not in the build cache
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

// buildOutput collects the output of "go build -v": the name of every package that it compiles, and errors.
type buildOutput struct {
	total map[string]int64 // size of the Go files of every package to compile

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *buildOutput) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

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

// tail returns the end of the output, which contains the errors.
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
