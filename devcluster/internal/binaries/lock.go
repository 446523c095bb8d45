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

// lockEvery is the interval of attempts to take the lock. There is no notification, and a build takes minutes.
const lockEvery = 200 * time.Millisecond

// lockDir takes the build lock of a directory. The kernel releases it when the process dies.
func lockDir(ctx context.Context, dir string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open build lock: %w", err)
	}
	start, reported := time.Now(), time.Duration(0)
	retry := time.NewTicker(lockEvery)
	defer retry.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // closing releases the lock
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
		case <-retry.C:
		}
	}
}
