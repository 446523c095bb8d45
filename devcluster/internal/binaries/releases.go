package binaries

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const releases = "releases"

// ofReleases are the programs that differ between releases. etcd, kubectl and kwok work with all releases.
var ofReleases = []Program{APIServer, ControllerManager, Scheduler}

// modules returns the binaries to build, by the directory of their module.
func (o Options) modules() (map[string][]binary, error) {
	if o.Release == "" {
		return map[string][]binary{o.ModuleDir: o.Code.mainBinaries(o.Programs)}, nil
	}
	known, err := o.releases()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, o.Release) {
		return nil, fmt.Errorf("unknown release %q; known are %v", o.Release, known)
	}
	old := func(p Program) bool { return slices.Contains(ofReleases, p) }
	modules := make(map[string][]binary)
	if common := o.Code.mainBinaries(slices.DeleteFunc(slices.Clone(o.Programs), old)); len(common) > 0 {
		modules[o.ModuleDir] = common
	}
	servers := slices.DeleteFunc(slices.Clone(o.Programs), func(p Program) bool { return !old(p) })
	modules[filepath.Join(o.ModuleDir, releases, o.Release)] = separateBinaries(servers)
	return modules, nil
}

func (o Options) releases() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(o.ModuleDir, releases))
	if err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// kubernetesVersion returns the release of Kubernetes that a module pins. It reads only go.mod, so nothing is
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
	return "", fmt.Errorf("%s requires no version of k8s.io/kubernetes", filepath.Join(module, "go.mod"))
}
