package binaries

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// compile builds binaries in a temporary directory next to their destination, and then moves them.
func (b *build) compile(ctx context.Context, binaries []binary) error {
	start := time.Now()
	temporary, err := os.MkdirTemp(b.bin, ".build-")
	if err != nil {
		return fmt.Errorf("create directory for the linker: %w", err)
	}
	defer func() { _ = os.RemoveAll(temporary) }() // empty after the renames
	fmt.Fprintf(b.progress, "building %s with go build\n", b.bin)
	output := &buildOutput{total: b.sizes(ctx, binaries)}
	args := slices.Concat([]string{"build", "-v", "-o", temporary + "/"}, b.flags, packages(binaries))
	command := goCommand(ctx, b.module, args...)
	command.Stdout, command.Stderr = output, output
	command.Env = append(command.Env, "GOGC=400") // a tenth less work; the largest package takes 2 GB
	if err := whileReporting(command.Run, func() {
		fmt.Fprintf(b.progress, "building: %s\n", output.progress(time.Since(start)))
	}); err != nil {
		return fmt.Errorf("build %v: %w\n%s", packages(binaries), err, output.tail())
	}
	for _, binary := range binaries {
		if err := os.Rename(filepath.Join(temporary, binary.name()), b.path(binary.name())); err != nil {
			return fmt.Errorf("move %s to its destination: %w", binary.name(), err)
		}
	}
	fmt.Fprintf(b.progress, "built in %.0f s\n", time.Since(start).Seconds())
	return nil
}

func packages(binaries []binary) []string {
	var paths []string
	for _, binary := range binaries {
		paths = append(paths, binary.pkg)
	}
	return paths
}

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
