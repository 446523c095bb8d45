package binaries

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// releases is the directory of the module below which every older release has a module of its own.
const releases = "releases"

// ofReleases are the programs that every release has of its own. etcd, kubectl and kwok work with all of them.
var ofReleases = []Program{APIServer, ControllerManager, Scheduler}

// modules says from the module in which directory each of the programs is built.
func (o Options) modules() (map[string][]Program, error) {
	if o.Release == "" {
		return map[string][]Program{o.ModuleDir: o.Programs}, nil
	}
	known, err := o.releases()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, o.Release) {
		return nil, fmt.Errorf("there is no release %q; there are %v", o.Release, known)
	}
	modules := make(map[string][]Program)
	for _, p := range o.Programs {
		dir := o.ModuleDir
		if slices.Contains(ofReleases, p) {
			dir = filepath.Join(o.ModuleDir, releases, o.Release)
		}
		modules[dir] = append(modules[dir], p)
	}
	return modules, nil
}

// releases lists the older releases that there are modules of.
func (o Options) releases() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(o.ModuleDir, releases))
	if err != nil {
		return nil, fmt.Errorf("look for releases: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// kubernetesVersion is the release of Kubernetes that a module pins. Its go.mod is all that is read: nothing is
// downloaded for a module that is not built.
func kubernetesVersion(ctx context.Context, module string) (string, error) {
	out, err := goCommand(ctx, module, "mod", "edit", "-json").Output()
	if err != nil {
		return "", fmt.Errorf("read go.mod: %w", withStderr(err))
	}
	var file struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return "", fmt.Errorf("read go.mod: %w", err)
	}
	for _, required := range file.Require {
		if required.Path == "k8s.io/kubernetes" {
			return required.Version, nil
		}
	}
	return "", fmt.Errorf("%s pins no release of Kubernetes", filepath.Join(module, "go.mod"))
}
