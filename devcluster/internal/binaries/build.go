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
	"strings"
)

// Options say what Build makes, from what, and where to.
type Options struct {
	ModuleDir string // where the go.mod lies; empty: FindModule from the working directory
	// CacheDir is the directory below which every build has its own; empty: listfacade/devcluster in the user's cache.
	CacheDir string
	Dir      string    // exactly where the binaries go, instead of a directory below CacheDir
	Programs []Program // what to build; empty: All
	Progress io.Writer // a line for every program that had to be built, and one every ten seconds while it is built
}

// Build makes what is not there yet and returns the path of every program that was asked for.
func Build(ctx context.Context, o Options) (map[Program]string, error) {
	o, key, err := o.complete(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make directory for binaries: %w", err)
	}
	paths := make(map[Program]string, len(o.Programs))
	var missing []Program
	for _, p := range o.Programs {
		paths[p] = filepath.Join(o.Dir, string(p))
		if !built(paths[p], key) {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return paths, nil
	}
	unlock, err := lockDir(ctx, o.Dir, o.Progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, p := range missing {
		if built(paths[p], key) {
			continue // by the process that held the lock before
		}
		if err := compile(ctx, o, p, paths[p]); err != nil {
			return nil, err
		}
		if err := os.WriteFile(keyFile(paths[p]), []byte(key), 0o644); err != nil {
			return nil, fmt.Errorf("note what %s was built from: %w", p, err)
		}
	}
	return paths, nil
}

// complete fills in the defaults and computes the key of what would be built.
func (o Options) complete(ctx context.Context) (Options, string, error) {
	if o.ModuleDir == "" {
		dir, err := FindModule(".")
		if err != nil {
			return o, "", err
		}
		o.ModuleDir = dir
	}
	if len(o.Programs) == 0 {
		o.Programs = All()
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	key, err := buildKey(ctx, o.ModuleDir)
	if err != nil || o.Dir != "" {
		return o, key, err
	}
	if o.CacheDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, "", fmt.Errorf("find cache directory: %w", err)
		}
		o.CacheDir = filepath.Join(cache, "listfacade", "devcluster")
	}
	o.Dir = filepath.Join(o.CacheDir, key, "bin")
	return o, key, nil
}

// buildKey is a hash of everything that decides what the compiler makes.
func buildKey(ctx context.Context, moduleDir string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(moduleDir, name))
		if err != nil {
			return "", fmt.Errorf("hash what the binaries are built from: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	command := goCommand(ctx, moduleDir, "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS", "GOEXPERIMENT")
	platform, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask go for the platform: %w", withStderr(err))
	}
	fmt.Fprintf(hash, "%s\n%s", platform, linkerFlags())
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
