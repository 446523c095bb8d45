package testkit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program compiles the facade and returns the path of the program. It uses the flags of the Makefile, so it shares the
// build cache with `make run`.
func Program(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lockBuild(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	program := filepath.Join(root, "bin", "tests", "listfacade")
	if err := Compile(t.Context(), root, program, "./cmd/listfacade"); err != nil {
		t.Fatal(err)
	}
	return program
}

// Quickly returns the flags of Compile for commands of other modules. The devcluster compiles its programs with the
// same flags (devcluster/internal/binaries/build.go), so common packages are compiled once.
func Quickly() []string {
	return []string{
		"-gcflags=all=-l -dwarf=false", "-gcflags=std=", "-gcflags=golang.org/x/net/...=-dwarf=false",
		"-gcflags=google.golang.org/...=-dwarf=false", "-gcflags=k8s.io/apimachinery/...=-dwarf=false",
	}
}

// Compile compiles a command of the module in a directory. It uses the Makefile's flags for builds without the race
// detector, and the given flags.
func Compile(ctx context.Context, module, program, pkg string, flags ...string) error {
	build := exec.CommandContext(ctx, "go",
		append(append([]string{"build", "-trimpath", "-o", program}, flags...), pkg)...)
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", filepath.Base(program), err, out)
	}
	return nil
}
