package binaries

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestProgramsAreWhatGoModPins: the list of programs and the version here repeat what go.mod says.
func TestProgramsAreWhatGoModPins(t *testing.T) {
	module, err := FindModule(".")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)\ntool \((.*?)\)`).FindSubmatch(data)
	if block == nil {
		t.Fatal("go.mod has no tools")
	}
	tools := strings.Fields(string(block[1]))
	var packages []string
	for _, p := range All() {
		packages = append(packages, p.mainPackage())
	}
	slices.Sort(tools)
	slices.Sort(packages)
	if !slices.Equal(tools, packages) {
		t.Errorf("go.mod has the tools\n%v\nhere are\n%v", tools, packages)
	}
	if !strings.Contains(string(data), "k8s.io/kubernetes "+kubernetesVersion+" ") {
		t.Errorf("go.mod does not pin k8s.io/kubernetes %s", kubernetesVersion)
	}
}

func TestFindModule(t *testing.T) {
	root := t.TempDir()
	module := filepath.Join(root, "devcluster")
	deep := filepath.Join(root, "a", "b")
	for _, dir := range []string{module, deep} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module "+modulePath+"\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{root, module, deep} {
		if got, err := FindModule(from); err != nil || got != module {
			t.Errorf("from %s: %q, %v", from, got, err)
		}
	}
}

// TestBuiltNeedsItsKey: a binary without a key, or with that of another build, is built again.
func TestBuiltNeedsItsKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if built(path, "k") {
		t.Error("nothing counts as built")
	}
	write(path, "binary")
	if built(path, "k") {
		t.Error("a binary without a key counts as built")
	}
	write(keyFile(path), "k")
	if !built(path, "k") || built(path, "other") {
		t.Error("the key is not compared")
	}
}

func TestLockDir(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockDir(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var progress strings.Builder
	if _, err := lockDir(ctx, dir, &progress); err == nil {
		t.Fatal("the lock was taken twice")
	}
	if !strings.Contains(progress.String(), "waiting for another build") {
		t.Errorf("the wait was not reported: %q", progress.String())
	}
	unlock()
	again, err := lockDir(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
