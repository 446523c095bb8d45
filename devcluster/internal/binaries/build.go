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

// Options are the sources and the destination of a build.
type Options struct {
	ModuleDir string // directory of go.mod; if empty, FindModule searches from the working directory
	// Release is an older release of Kubernetes for the servers, such as "1.30". If empty, it is the release in go.mod.
	Release string
	// CacheDir has a subdirectory for every build. If empty, it is listfacade/devcluster in the user's cache directory.
	CacheDir string
	Dir      string // directory for the binaries, instead of a subdirectory of CacheDir
	Code     Code
	Programs []Program // programs to build; if empty, All
	Progress io.Writer // one line for each build, and one every ten seconds during the build
}

// Code selects between a fast build and fast programs.
type Code int

// The choices of Code.
const (
	// QuicklyCompiled disables inlining, except in packages that every request uses. It omits debug information, except
	// in the standard library. The build takes three fifths of the time of Optimized.
	QuicklyCompiled Code = iota
	// Optimized uses the options of releases, for measurements.
	Optimized
)

// compilerFlags returns the flags of the go command. The Makefile and internal/testkit of the facade's module use the
// same flags for other commands, because a package is compiled once for each set of flags. The standard library has its
// default flags, so builds of the facade and of the cluster share it.
func (c Code) compilerFlags() []string {
	if c == Optimized {
		return nil
	}
	return []string{
		"-gcflags=all=-l -dwarf=false", "-gcflags=std=", "-gcflags=golang.org/x/net/...=-dwarf=false",
		"-gcflags=google.golang.org/...=-dwarf=false", "-gcflags=k8s.io/apimachinery/...=-dwarf=false",
	}
}

// Build builds the missing programs and returns the path of every requested program.
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

type build struct {
	module   string   // directory of its go.mod
	flags    []string // of the compiler and the linker
	key      string   // hash of all inputs of the compiler
	bin      string
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

// make compiles the binaries with missing programs in one go command, and links the programs' names to them.
func (b *build) make(ctx context.Context, binaries []binary) error {
	if err := os.MkdirAll(b.bin, 0o755); err != nil {
		return fmt.Errorf("create directory for binaries: %w", err)
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
	// The previous holder of the lock may have built some binaries.
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

// name links a program's name to the binary, and then writes the program's key file.
func (b *build) name(binary binary, p Program) error {
	if path := b.path(string(p)); string(p) != binary.name() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace %s: %w", p, err)
		}
		if err := os.Symlink(binary.name(), path); err != nil {
			return fmt.Errorf("link %s: %w", p, err)
		}
	}
	if err := os.WriteFile(keyFile(b.path(string(p))), []byte(b.key), 0o644); err != nil {
		return fmt.Errorf("write the build key of %s: %w", p, err)
	}
	return nil
}

func (b *build) path(name string) string { return filepath.Join(b.bin, name) }

func (b *build) hash(ctx context.Context) (string, error) {
	hash := sha256.New()
	sources, err := filepath.Glob(filepath.Join(b.module, "cmd", path.Base(controlPlane), "*.go"))
	if err != nil {
		return "", fmt.Errorf("find sources: %w", err)
	}
	for _, file := range append(sources, filepath.Join(b.module, "go.mod"), filepath.Join(b.module, "go.sum")) {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("hash the sources: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(file), len(data), data)
	}
	command := goCommand(ctx, b.module, "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOEXPERIMENT")
	platform, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("get the platform from go env: %w", withStderr(err))
	}
	fmt.Fprintf(hash, "%s\n%q", platform, b.flags)
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// goCommand returns a go command in the module. The command ignores workspaces, so only go.mod decides the versions.
// Without cgo, the build shares compiled packages with the devcluster command, which the Makefile compiles first. The
// command ignores GOFLAGS of the environment, because every value would need another build.
func goCommand(ctx context.Context, moduleDir string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = moduleDir
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	return command
}

// keyFile returns the path of the file with the key of a program's build. The file is needed because the name of
// Options.Dir does not contain the key.
func keyFile(path string) string { return path + ".key" }

func built(path, key string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	data, err := os.ReadFile(keyFile(path))
	return err == nil && string(data) == key
}

func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
