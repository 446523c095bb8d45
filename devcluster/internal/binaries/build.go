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
	Programs []Program // what to build; empty: All
	Progress io.Writer // a line for every program that had to be built, and one every ten seconds while it is built
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
	for dir, programs := range modules {
		b, err := newBuild(ctx, o, dir)
		if err != nil {
			return nil, err
		}
		for _, p := range programs {
			paths[p] = filepath.Join(b.bin, string(p))
		}
		if err := b.make(ctx, programs); err != nil {
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
	module   string // the directory of its go.mod
	flags    string // of the linker
	key      string // a hash of everything that decides what the compiler makes
	bin      string // where the binaries go
	progress io.Writer
}

func newBuild(ctx context.Context, o Options, module string) (*build, error) {
	b := &build{module: module, bin: o.Dir, progress: o.Progress}
	version, err := kubernetesVersion(ctx, module)
	if err != nil {
		return nil, err
	}
	b.flags = linkerFlags(version)
	if b.key, err = b.hash(ctx); err != nil {
		return nil, err
	}
	if b.bin == "" {
		b.bin = filepath.Join(o.CacheDir, b.key, "bin")
	}
	return b, nil
}

// make compiles those of the programs that are not there yet.
func (b *build) make(ctx context.Context, programs []Program) error {
	if err := os.MkdirAll(b.bin, 0o755); err != nil {
		return fmt.Errorf("make directory for binaries: %w", err)
	}
	there := func(p Program) bool { return built(filepath.Join(b.bin, string(p)), b.key) }
	missing := slices.DeleteFunc(slices.Clone(programs), there)
	if len(missing) == 0 {
		return nil
	}
	unlock, err := lockDir(ctx, b.bin, b.progress)
	if err != nil {
		return err
	}
	defer unlock()
	for _, p := range missing {
		if there(p) {
			continue // by the process that held the lock before
		}
		path := filepath.Join(b.bin, string(p))
		if err := b.compile(ctx, p, path); err != nil {
			return err
		}
		if err := os.WriteFile(keyFile(path), []byte(b.key), 0o644); err != nil {
			return fmt.Errorf("note what %s was built from: %w", p, err)
		}
	}
	return nil
}

// hash is of everything that decides what the compiler makes.
func (b *build) hash(ctx context.Context) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(b.module, name))
		if err != nil {
			return "", fmt.Errorf("hash what the binaries are built from: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	command := goCommand(ctx, b.module, "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOEXPERIMENT")
	platform, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask go for the platform: %w", withStderr(err))
	}
	fmt.Fprintf(hash, "%s\n%s", platform, b.flags)
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// goCommand runs go in the module, without a workspace: its versions are what go.mod says.
func goCommand(ctx context.Context, moduleDir string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = moduleDir
	command.Env = append(os.Environ(), "GOWORK=off")
	return command
}

// keyFile notes beside a binary what it was built from, which a directory chosen by the caller does not say.
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
