package audit

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// fill fills a number of files of 1 MiB each, and begins another.
func fill(t *testing.T, f io.Writer, files int) {
	t.Helper()
	half := []byte(strings.Repeat("x", 1<<19))
	for range 2*files + 1 {
		if _, err := f.Write(half); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Millisecond) // the names of rotated files contain milliseconds
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// A full file is renamed. The newest rotated files are kept, optionally compressed, and no other file of the directory
// is changed.
func TestFileIsRotated(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   int
		ending string
	}{
		"kept":       {func(c *Config) { c.MaxBackups = 0 }, 5, ".log"},
		"bounded":    {func(c *Config) { c.MaxBackups = 2 }, 2, ".log"},
		"compressed": {func(c *Config) { c.MaxBackups, c.Compress = 3, true }, 3, ".log.gz"},
		"one file":   {func(c *Config) { c.MaxSize = 0 }, 0, ""},
	} {
		bubble.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			c := DefaultConfig()
			c.Path, c.MaxSize = filepath.Join(dir, "audit.log"), 1
			test.change(&c)
			old := filepath.Join(dir, "audit-1990-02-03T04-05-06.789.log")
			for _, path := range []string{old, filepath.Join(dir, "audit-of-mine.log")} {
				if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f, err := open(c)
			if err != nil {
				t.Fatal(err)
			}
			fill(t, f, 5)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			all := names(t, dir)
			if !slices.Contains(all, "audit-of-mine.log") || slices.Contains(all, filepath.Base(old)) != (test.want == 0) {
				t.Errorf("%s: got %q", name, all)
			}
			all = slices.DeleteFunc(all, func(name string) bool {
				return name == "audit-of-mine.log" || name == "audit.log" || name == filepath.Base(old)
			})
			if len(all) != test.want {
				t.Fatalf("%s: got %q", name, all)
			}
			for _, backup := range all {
				if !strings.HasSuffix(backup, test.ending) || sizeOf(t, filepath.Join(dir, backup)) != 1<<20 {
					t.Errorf("got %s", backup)
				}
			}
		})
	}
}

// sizeOf returns the size of a file in bytes, decompressed if it is compressed.
func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := io.Reader(file)
	if strings.HasSuffix(path, compressed) {
		if in, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	size, err := io.Copy(io.Discard, in)
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// An existing file is appended to, and its size counts.
func TestExistingFileIsAppended(t *testing.T) {
	c := DefaultConfig()
	c.Path, c.MaxSize = filepath.Join(t.TempDir(), "audit.log"), 1
	for range 3 {
		f, err := open(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(strings.Repeat("x", 1<<19))); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if all := names(t, filepath.Dir(c.Path)); len(all) != 2 {
		t.Errorf("got %q", all)
	}
}
