package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockEvery is how often a held lock is tried again. The wait has no signal to wait for, and a build takes minutes.
const lockEvery = 200 * time.Millisecond

// lockDir takes the directory's build lock, which the kernel drops when its holder dies.
func lockDir(ctx context.Context, dir string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open build lock: %w", err)
	}
	start, reported := time.Now(), time.Duration(0)
	again := time.NewTicker(lockEvery)
	defer again.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // closing drops the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("take build lock: %w", err), file.Close())
		}
		if waited := time.Since(start); waited >= reported {
			fmt.Fprintf(progress, "waiting for another build in %s: %.0f s\n", dir, waited.Seconds())
			reported += progressEvery
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		case <-again.C:
		}
	}
}
