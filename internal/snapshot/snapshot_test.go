package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

var header = Header{Cluster: "uid", Resource: "v1/pods", Encoding: "json", Upstream: "v1.37.1", Base: 5, RV: 9, Objects: 1, Events: 2, Taken: time.Unix(1e9, 0).UTC()}

const frames = "{\"type\":\"ADDED\"}\n"

func written(t testing.TB) (dir string, content []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "made")
	for range 2 { // the second file replaces the first
		if err := Write(t.Context(), dir, "pods", header, func(w io.Writer) error { _, err := io.WriteString(w, frames); return err }); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, "pods"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, content
}

func TestRoundTrip(t *testing.T) {
	dir, _ := written(t)
	s, err := Open(t.Context(), filepath.Join(dir, "pods"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err != nil || string(got) != frames {
		t.Errorf("%q, %v", got, err)
	}
	if diff := cmp.Diff(header, s.Header); diff != "" {
		t.Error(diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "pods"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestLook checks that Look reads the header of a file whose frames are damaged, and refuses a file that Open would
// refuse.
func TestLook(t *testing.T) {
	dir, whole := written(t)
	path := filepath.Join(dir, "pods")
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-trailerSize-1] ^= 1
	for name, c := range map[string]struct {
		content []byte
		mode    os.FileMode
		want    error
	}{
		"whole": {whole, 0o600, nil}, "damaged frames": {damaged, 0o600, nil}, "others may read it": {whole, 0o644, ErrOpen},
		"empty": {nil, 0o600, ErrBroken}, "another format": {bytes.Repeat([]byte("x"), len(whole)), 0o600, ErrBroken},
	} {
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		h, err := Look(path)
		if !errors.Is(err, c.want) || err == nil && h != header {
			t.Errorf("%s: got %+v, %v", name, h, err)
		}
	}
}

// TestFailedWrite checks that a failed Write leaves the old file and no other.
func TestFailedWrite(t *testing.T) {
	dir, before := written(t)
	failure := errors.New("failure")
	if err := Write(t.Context(), dir, "pods", header, func(io.Writer) error { return failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	late, end := context.WithCancelCause(t.Context())
	endless := func(w io.Writer) error {
		for {
			if _, err := io.WriteString(w, frames); err != nil {
				return err
			}
			end(failure)
		}
	}
	if err := Write(late, dir, "pods", header, endless); !errors.Is(err, failure) {
		t.Error(err)
	}
	entries, _ := os.ReadDir(dir)
	if now, err := os.ReadFile(filepath.Join(dir, "pods")); err != nil || !bytes.Equal(now, before) || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// slow is a disk that counts the bytes written since the last sync.
type slow struct {
	unsynced, most, syncs int
	sync                  func()
}

// Write implements io.Writer.
func (s *slow) Write(p []byte) (int, error) {
	s.unsynced += len(p)
	s.most = max(s.most, s.unsynced)
	return len(p), nil
}

// Sync implements disk.
func (s *slow) Sync() error {
	s.unsynced = 0
	s.syncs++
	s.sync()
	return nil
}

// TestSlowDisk checks that the context ends a write when the disk is slow, even if everything fits into memory.
func TestSlowDisk(t *testing.T) {
	failure := errors.New("failure")
	noise, source := make([]byte, 1<<20), rand.NewChaCha8([32]byte{})
	long := func(w io.Writer) error {
		for range 2*syncEvery/len(noise) + 8 {
			_, _ = source.Read(noise) // noise that cannot be compressed
			if _, err := w.Write(noise); err != nil {
				return err
			}
		}
		return nil
	}
	for at, want := range []int{3, 1, 2, 3} { // number of the sync at which the context ends; 0 is none
		ctx, end := context.WithCancelCause(t.Context())
		file := &slow{}
		file.sync = func() {
			if file.syncs == at {
				end(failure)
			}
		}
		if err := fill(ctx, file, header, long); errors.Is(err, failure) != (at > 0) || file.syncs != want || file.most >= syncEvery+4<<20 {
			t.Errorf("end at sync %d: got error %v after %d syncs, with up to %d bytes not synced", at, err, file.syncs, file.most)
		}
		end(nil)
	}
	ctx, end := context.WithCancelCause(t.Context())
	file := &slow{sync: func() {}}
	if err := fill(ctx, file, header, func(io.Writer) error { end(failure); return nil }); !errors.Is(err, failure) || file.syncs != 0 {
		t.Errorf("end before the last sync: got error %v after %d syncs, want the cause after none", err, file.syncs)
	}
}

// TestPipe checks that neither Open nor CleanUnfinished waits for the writer of a named pipe.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".pods"+Suffix+".1")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Open(t.Context(), path)
		done <- errors.Join(err, CleanUnfinished(filepath.Dir(path)))
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrBroken) {
			t.Error(err)
		}
	case <-time.After(settings.Patience()):
		t.Fatal("got no result, want ErrBroken from a named pipe")
	}
}

// TestClean checks that Clean removes old snapshots that keep does not name, and no other file.
func TestClean(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	content := map[string]struct {
		content string
		age     time.Duration
	}{
		"pods.v1.snapshot": {magic, time.Hour}, "nodes.v1.snapshot": {magic, time.Hour}, ".pods.v1.snapshot.123": {magic, time.Hour},
		"new.v1.snapshot": {magic, 0}, ".new.v1.snapshot.123": {magic, 0}, "notes.txt": {magic, time.Hour}, "etcd-2026.snapshot": {"of another program", time.Hour},
		".etcd-2026.snapshot.123": {"of another program", time.Hour},
	}
	for name, c := range content {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-c.age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clean(dir, now.Add(-time.Minute), func(name string) bool { return name == "pods.v1.snapshot" }); err != nil {
		t.Fatal(err)
	}
	left := func(want ...string) {
		t.Helper()
		var left []string
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			left = append(left, entry.Name())
		}
		if !slices.Equal(left, want) {
			t.Errorf("got files %v, want %v", left, want)
		}
	}
	left(".etcd-2026.snapshot.123", ".new.v1.snapshot.123", ".pods.v1.snapshot.123", "etcd-2026.snapshot", "new.v1.snapshot", "notes.txt", "pods.v1.snapshot")
	if err := CleanUnfinished(dir); err != nil { // of any age
		t.Fatal(err)
	}
	left(".etcd-2026.snapshot.123", "etcd-2026.snapshot", "new.v1.snapshot", "notes.txt", "pods.v1.snapshot")
	if err := errors.Join(Clean(filepath.Join(dir, "none"), now, nil), CleanUnfinished(filepath.Join(dir, "none"))); err != nil {
		t.Error(err)
	}
}

// TestBroken checks that a file is refused if any byte is missing, added or changed.
func TestBroken(t *testing.T) {
	_, whole := written(t)
	refused := func(name string, content []byte) {
		t.Helper()
		if _, _, err := decode(bytes.NewReader(content), int64(len(content))); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range whole {
		refused("shorter", whole[:i])
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		refused("changed", changed)
	}
	refused("longer", append(bytes.Clone(whole), 0))
	path := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(path, whole, 0o644); err != nil { //nolint:gosec // the test needs an open file
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); !errors.Is(err, ErrOpen) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), filepath.Dir(path)); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}

// FuzzDecode checks that a file with arbitrary content and a correct checksum is read or refused without a panic.
func FuzzDecode(f *testing.F) {
	var b bytes.Buffer
	if err := write(&b, header, func(w io.Writer) error { _, err := io.WriteString(w, strings.Repeat(frames, 9)); return err }); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes()[:b.Len()-trailerSize])
	f.Add([]byte(magic + "\x00\x00\x00\x02{}"))
	f.Add([]byte(magic + "\xff\xff\xff\xff{}"))
	f.Fuzz(func(_ *testing.T, content []byte) {
		sum := sha256.New()
		sum.Write(content)
		sealed := append(bytes.Clone(content), trailer(sum, uint64(len(content)))...)
		_, unpacking, err := decode(bytes.NewReader(sealed), int64(len(sealed)))
		if err == nil {
			_, _ = io.CopyN(io.Discard, unpacking, 1<<20)
			unpacking.Close()
		}
	})
}
