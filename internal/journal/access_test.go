package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// TestOneProcessWrites checks that a journal can be opened by another process only after it was closed.
func TestOneProcessWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by", "journal")
	first, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Open(dir); !errors.Is(err, ErrLocked) || second != nil {
		t.Errorf("got %v, %v, want ErrLocked", second, err)
	}
	w := first.Lane("pods")
	begin(t, w, startAt(5, Position{}), object(1, "ns/a"))
	if _, err := collect(listed(t, dir, "pods")[0].Records(t.Context())); err != nil {
		t.Errorf("got %v, want that reading needs no lock", err)
	}
	if err := errors.Join(w.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	w = opened(t, dir).Lane("pods")
	begin(t, w, startAt(5, listed(t, dir, "pods")[0].End), object(1, "ns/a"))
	if all := listed(t, dir, "pods"); len(all) != 2 || !all[1].Continues(&all[0]) {
		t.Errorf("got %+v, want two segments", all)
	}
	for path, want := range map[string]os.FileMode{
		dir: 0o700, filepath.Join(dir, lockName): 0o600, filepath.Join(dir, lanesDir): 0o700, filepath.Join(dir, lanesDir, "pods"): 0o700,
		filepath.Join(dir, lanesDir, "pods", fileName(2)): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// TestUnfinishedSegmentsAreRemoved checks that Open removes the segments that an earlier process did not finish, and
// nothing else.
func TestUnfinishedSegmentsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	lane := filepath.Join(dir, lanesDir, "pods")
	if err := os.MkdirAll(lane, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"." + fileName(1), fileName(2), ".notes", "." + fileName(3) + ".txt", ".3.segment"} {
		if err := os.WriteFile(filepath.Join(lane, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened(t, dir)
	entries, err := os.ReadDir(lane)
	if err != nil || len(entries) != 4 || entries[0].Name() != "."+fileName(3)+".txt" {
		t.Errorf("got %v, %v, want all but the unfinished segment", entries, err)
	}
	if all := listed(t, dir, "pods"); len(all) != 1 || all[0].Sequence != 2 || !errors.Is(all[0].Err, ErrDamaged) {
		t.Errorf("got %+v, want one damaged segment", all)
	}
}

// TestFilesOfOthersAreRefused checks that readers refuse files that others may have written, and never wait for a pipe.
func TestFilesOfOthersAreRefused(t *testing.T) {
	content, _ := example(t, closed)
	for name, c := range map[string]struct {
		put  func(path string) error
		want error
	}{
		"regular": {func(path string) error { return os.WriteFile(path, content, 0o600) }, nil},
		"mode 0640": {func(path string) error {
			return errors.Join(os.WriteFile(path, content, 0o600), os.Chmod(path, 0o640)) //nolint:gosec // refused
		}, ErrAccess},
		"link": {func(path string) error {
			target := filepath.Join(filepath.Dir(path), "target")
			return errors.Join(os.WriteFile(target, content, 0o600), os.Symlink(target, path))
		}, ErrAccess},
		"pipe":      {func(path string) error { return syscall.Mkfifo(path, 0o600) }, ErrAccess},
		"directory": {func(path string) error { return os.Mkdir(path, 0o700) }, ErrAccess},
		"other user": {func(path string) error {
			return errors.Join(os.WriteFile(path, content, 0o600), os.Chown(path, 1234, 1234))
		}, ErrAccess},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "other user" && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			dir := t.TempDir()
			path := filepath.Join(dir, lanesDir, "pods", fileName(1))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), c.put(path)); err != nil {
				t.Fatal(err)
			}
			done := make(chan Segment, 1)
			go func() {
				all, _ := Segments(dir, "pods")
				done <- all[0]
			}()
			select {
			case s := <-done:
				if !errors.Is(s.Err, c.want) {
					t.Errorf("got %v, want %v", s.Err, c.want)
				}
				if _, err := collect(s.Records(t.Context())); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			case <-time.After(settings.Patience()):
				t.Fatal("got no result")
			}
		})
	}
}

// TestDirectoriesOfOthersAreRefused checks that neither readers nor writers use a directory in which others can write.
func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	for _, name := range []string{lanesDir, lanesDir + "/pods", documentsDir} {
		for kind, put := range map[string]func(path, elsewhere string) error{
			"link": func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
			"open": func(path, _ string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o770)) }, //nolint:gosec // refused
			"file": func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
		} {
			dir, elsewhere := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), put(path, elsewhere)); err != nil {
				t.Fatal(err)
			}
			j, err := Open(dir)
			if err == nil {
				err = errors.Join(j.Lane("pods").Begin(t.Context(), startAt(5, Position{}), func(func(Record) bool) {}), j.Close())
			}
			if err == nil {
				t.Errorf("%s, %s: got no error", name, kind)
			}
			if all, err := Segments(dir, "pods"); len(all) > 0 {
				t.Errorf("%s, %s: got %v, %v, want no segment", name, kind, all, err)
			}
			entries, err := os.ReadDir(elsewhere)
			if err != nil || len(entries) > 0 {
				t.Errorf("%s, %s: got %v, %v elsewhere, want nothing", name, kind, entries, err)
			}
		}
	}
}

// TestMissingJournal checks that a directory that does not exist is an empty journal, and is not created.
func TestMissingJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	lanes, err := Lanes(dir)
	all, failed := Segments(dir, "pods")
	cut, missed := CutAt(t.Context(), dir, epoch)
	documents, none := DocumentsAt(t.Context(), dir, epoch)
	if err := errors.Join(err, failed, missed, none); err != nil || len(lanes)+len(all)+len(cut.Lanes)+len(documents) > 0 {
		t.Errorf("got %v, %v, %v, %v, %v, want nothing", lanes, all, cut, documents, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no directory", err)
	}
}
