package audit

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func open(c Config) (io.WriteCloser, error) {
	if c.Path == "-" {
		return stdout{}, nil
	}
	f := &file{config: c, limit: int64(c.MaxSize) << 20}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, err
	}
	return f, f.open()
}

// stdout writes to os.Stdout. Its Close does not close os.Stdout.
type stdout struct{}

func (stdout) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

func (stdout) Close() error { return nil }

// file is a file that is rotated as in kube-apiserver. A full file is renamed to a name with the time, optionally
// compressed, and later removed because of its age or the number of files. Not safe for concurrent use.
type file struct {
	config  Config
	limit   int64 // maximum size of the file in bytes; 0 means no limit
	out     *os.File
	size    int64
	tidying sync.WaitGroup
	turn    sync.Mutex // held while tidy runs
}

func (f *file) open() error {
	out, err := os.OpenFile(f.config.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := out.Stat()
	if err != nil {
		return errors.Join(err, out.Close())
	}
	f.out, f.size = out, info.Size()
	return nil
}

// Write writes p to one file, never to two.
func (f *file) Write(p []byte) (int, error) {
	if f.limit > 0 && f.size > 0 && f.size+int64(len(p)) > f.limit {
		if err := f.rotate(); err != nil {
			return 0, err
		}
	}
	if f.out == nil { // an earlier rotation could not open the file
		if err := f.open(); err != nil {
			return 0, err
		}
	}
	n, err := f.out.Write(p)
	f.size += int64(n)
	return n, err
}

// Close closes the file, and waits until tidy has ended.
func (f *file) Close() error {
	defer f.tidying.Wait()
	if f.out == nil {
		return nil
	}
	return f.out.Close()
}

const backupTime = "2006-01-02T15-04-05.000"

func (f *file) rotate() error {
	if f.out != nil {
		err := f.out.Close()
		f.out = nil
		if err != nil {
			return err
		}
	}
	beginning, end := f.nameParts()
	aside := beginning + time.Now().UTC().Format(backupTime) + end
	if _, err := os.Lstat(aside); err == nil {
		return fmt.Errorf("%s: %w", aside, fs.ErrExist) // second rotation within a millisecond; the next write tries again
	}
	if err := os.Rename(f.config.Path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.size = 0
	f.tidying.Go(f.tidy)
	return f.open()
}

func (f *file) nameParts() (beginning, end string) {
	end = filepath.Ext(f.config.Path)
	return strings.TrimSuffix(f.config.Path, end) + "-", end
}

const compressed = ".gz"

// tidy removes and compresses rotated files. Errors are ignored, because the next rotation tries again.
func (f *file) tidy() {
	f.turn.Lock()
	defer f.turn.Unlock()
	backups := f.backups()
	for i, backup := range backups {
		tooMany := f.config.MaxBackups > 0 && i >= f.config.MaxBackups
		tooOld := f.config.MaxAge > 0 && time.Since(backup.at) > time.Duration(f.config.MaxAge)*24*time.Hour
		switch {
		case tooMany || tooOld:
			_ = os.Remove(backup.path)
		case f.config.Compress && !strings.HasSuffix(backup.path, compressed):
			_ = compress(backup.path)
		}
	}
}

type backup struct {
	path string
	at   time.Time
}

// backups returns the rotated files, newest first.
func (f *file) backups() []backup {
	beginning, end := f.nameParts()
	dir, err := os.ReadDir(filepath.Dir(f.config.Path))
	if err != nil {
		return nil
	}
	var all []backup
	for _, entry := range dir {
		path := filepath.Join(filepath.Dir(f.config.Path), entry.Name())
		middle, ok := strings.CutPrefix(path, filepath.Clean(beginning))
		middle, ends := strings.CutSuffix(strings.TrimSuffix(middle, compressed), end)
		if at, err := time.Parse(backupTime, middle); ok && ends && err == nil {
			all = append(all, backup{path: path, at: at})
		}
	}
	slices.SortFunc(all, func(a, b backup) int { return b.at.Compare(a.at) })
	return all
}

func compress(path string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	half := path + compressed + ".tmp"
	out, err := os.OpenFile(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err = errors.Join(err, z.Close(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(half))
	}
	if err := os.Rename(half, path+compressed); err != nil {
		return err
	}
	return os.Remove(path)
}
