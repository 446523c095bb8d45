package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what Build makes, from what, and where to.
type Options struct {
	ModuleDir string // where the go.mod lies; empty: FindModule from the working directory
	// Release is an older release of Kubernetes, as "1.30", whose servers are built; empty: the one that go.mod pins.
	Release string
	// CacheDir is the directory below which every build has its own; empty: listfacade/devcluster in the user's cache.
	CacheDir string
	Dir      string    // exactly where the binaries go, instead of a directory below CacheDir
	Code     Code      // how fast the programs are to run
	Programs []Program // what to build; empty: All
	Progress io.Writer // a line for every program that had to be built, and one every ten seconds while it is built
}

// Code says whether a build is quick or what it builds is.
type Code int

// The choices of Code.
const (
	// QuicklyCompiled is without inlining and without information for debuggers, but for packages that every request
	// passes. It takes three fifths of the time.
	QuicklyCompiled Code = iota
	// Optimized is as releases are compiled, for measurements.
	Optimized
)

// compilerFlags are those of the go command for all packages. The Makefile and internal/testkit of the facade's module
// have the same ones for other commands, because a package is compiled once for each set of flags. The standard library
// is compiled as usual, because the facade needs it so.
func (c Code) compilerFlags() []string {
	if c == Optimized {
		return nil
	}
	return []string{
		"-gcflags=all=-l -dwarf=false", "-gcflags=std=", "-gcflags=golang.org/x/net/...=-dwarf=false",
		"-gcflags=google.golang.org/...=-dwarf=false", "-gcflags=k8s.io/apimachinery/...=-dwarf=false",
	}
}

// Build makes what is not there yet and returns the path of every program that was asked for.
func Build(ctx context.Context, o Options) (map[Program]string, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	modules, err := o.modules()
	if err != nil {
		return nil, err
	}
	paths := make(map[Program]string, len(o.Programs))
	for dir, binaries := range modules {
		b, err := newBuild(ctx, o, dir)
		if err != nil {
			return nil, err
		}
		for _, binary := range binaries {
			for _, p := range binary.programs {
				paths[p] = b.path(string(p))
			}
		}
		if err := b.make(ctx, binaries); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// complete fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.ModuleDir == "" {
		dir, err := FindModule(".")
		if err != nil {
			return o, err
		}
		o.ModuleDir = dir
	}
	if len(o.Programs) == 0 {
		o.Programs = All()
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.CacheDir == "" && o.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("find cache directory: %w", err)
		}
		o.CacheDir = filepath.Join(cache, "listfacade", "devcluster")
	}
	return o, nil
}

// build makes programs from one module.
type build struct {
	module   string   // the directory of its go.mod
	flags    []string // of the compiler and the linker
	key      string   // a hash of everything that decides what the compiler makes
	bin      string   // where the binaries go
	progress io.Writer
}

func newBuild(ctx context.Context, o Options, module string) (*build, error) {
	b := &build{module: module, bin: o.Dir, progress: o.Progress}
	version, err := kubernetesVersion(ctx, module)
	if err != nil {
		return nil, err
	}
	b.flags = append(o.Code.compilerFlags(), "-trimpath", "-ldflags", linkerFlags(version))
	if b.key, err = b.hash(ctx); err != nil {
		return nil, err
	}
	if b.bin == "" {
		b.bin = filepath.Join(o.CacheDir, b.key, "bin")
	}
	return b, nil
}

// make compiles the binaries of which a program is missing, all of them by one command of go, and links the programs'
// names to them.
func (b *build) make(ctx context.Context, binaries []binary) error {
	if err := os.MkdirAll(b.bin, 0o755); err != nil {
		return fmt.Errorf("make directory for binaries: %w", err)
	}
	complete := func(binary binary) bool {
		return !slices.ContainsFunc(binary.programs, func(p Program) bool { return !built(b.path(string(p)), b.key) })
	}
	if !slices.ContainsFunc(binaries, func(binary binary) bool { return !complete(binary) }) {
		return nil
	}
	unlock, err := lockDir(ctx, b.bin, b.progress)
	if err != nil {
		return err
	}
	defer unlock()
	// The process that held the lock before may have built some.
	missing := slices.DeleteFunc(slices.Clone(binaries), complete)
	if len(missing) == 0 {
		return nil
	}
	if err := b.compile(ctx, missing); err != nil {
		return err
	}
	for _, binary := range missing {
		for _, p := range binary.programs {
			if err := b.name(binary, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// name makes a program's name lead to its binary, and then notes what it was built from.
func (b *build) name(binary binary, p Program) error {
	if path := b.path(string(p)); string(p) != binary.name() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace %s: %w", p, err)
		}
		if err := os.Symlink(binary.name(), path); err != nil {
			return fmt.Errorf("name %s: %w", p, err)
		}
	}
	if err := os.WriteFile(keyFile(b.path(string(p))), []byte(b.key), 0o644); err != nil {
		return fmt.Errorf("note what %s was built from: %w", p, err)
	}
	return nil
}

// path is where a file of the build is.
func (b *build) path(name string) string { return filepath.Join(b.bin, name) }

// hash is of everything that decides what the compiler makes.
func (b *build) hash(ctx context.Context) (string, error) {
	hash := sha256.New()
	sources, err := filepath.Glob(filepath.Join(b.module, "cmd", path.Base(controlPlane), "*.go"))
	if err != nil {
		return "", fmt.Errorf("find sources: %w", err)
	}
	for _, file := range append(sources, filepath.Join(b.module, "go.mod"), filepath.Join(b.module, "go.sum")) {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("hash what the binaries are built from: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(file), len(data), data)
	}
	command := goCommand(ctx, b.module, "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOEXPERIMENT")
	platform, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask go for the platform: %w", withStderr(err))
	}
	fmt.Fprintf(hash, "%s\n%q", platform, b.flags)
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// goCommand runs go in the module, without a workspace: its versions are what go.mod says. Without cgo the
// compiler's results are the same as for the devcluster command, which the Makefile compiles first. Flags of the
// environment are left out, because binaries that they change would be built once for each set of them.
func goCommand(ctx context.Context, moduleDir string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = moduleDir
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	return command
}

// keyFile is next to a program and contains the key of its build, because a directory that the caller chose has no key
// in its name.
func keyFile(path string) string { return path + ".key" }

func built(path, key string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	data, err := os.ReadFile(keyFile(path))
	return err == nil && string(data) == key
}

// withStderr adds what the command said to the bare exit status.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
