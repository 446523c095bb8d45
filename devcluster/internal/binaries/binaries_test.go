package binaries

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKubectlIsATool: no package imports the command, so go.mod needs a tool directive to keep its dependencies.
func TestKubectlIsATool(t *testing.T) {
	if !strings.Contains(readGoMod(t, checkout(t)), "\ntool "+Kubectl.kubernetesPackage()+"\n") {
		t.Error("go.mod has no directive for kubectl")
	}
}

// TestReleaseModulesPinTheirRelease: the module of an older release has all modules of that release of Kubernetes.
func TestReleaseModulesPinTheirRelease(t *testing.T) {
	names, err := (Options{ModuleDir: checkout(t)}).releases()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("got no releases")
	}
	for _, name := range names {
		dir := filepath.Join(checkout(t), releases, name)
		version, err := kubernetesVersion(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(version, "v"+name+".") {
			t.Errorf("%s has %s", name, version)
		}
		staging := "v0" + strings.TrimPrefix(version, "v1")
		for _, line := range regexp.MustCompile(`(?m)^\s*(\S+) => (\S+) (\S+)$`).FindAllStringSubmatch(readGoMod(t, dir), -1) {
			if line[1] != line[2] || line[3] != staging {
				t.Errorf("%s, %s: %s in place of %s, want %s", name, version, line[3], line[1], staging)
			}
		}
		checkTools(t, dir, ofReleases)
	}
}

// TestReleaseModules: servers are built from the module of an older release, other programs from the main module.
func TestReleaseModules(t *testing.T) {
	root := t.TempDir()
	old := filepath.Join(root, releases, "1.2")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	programs := []Program{Etcd, APIServer, Kubectl, Scheduler}
	kubectl := binary{pkg: "k8s.io/kubernetes/cmd/kubectl", programs: []Program{Kubectl}}
	for release, want := range map[string]map[string][]binary{
		"": {root: {{pkg: controlPlane, programs: []Program{Etcd, APIServer, Scheduler}}, kubectl}},
		"1.2": {
			root: {{pkg: controlPlane, programs: []Program{Etcd}}, kubectl},
			old: {
				{pkg: "k8s.io/kubernetes/cmd/kube-apiserver", programs: []Program{APIServer}},
				{pkg: "k8s.io/kubernetes/cmd/kube-scheduler", programs: []Program{Scheduler}},
			},
		},
	} {
		got, err := Options{ModuleDir: root, Release: release, Programs: programs}.modules()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v, want %v", release, got, err, want)
		}
	}
	measured := []binary{
		{pkg: controlPlane, programs: []Program{Etcd, Scheduler}},
		{pkg: "k8s.io/kubernetes/cmd/kube-apiserver", programs: []Program{APIServer}}, kubectl,
	}
	if got := Optimized.mainBinaries(programs); !reflect.DeepEqual(got, measured) {
		t.Errorf("for measurements: got %v, want %v", got, measured)
	}
	if got, err := (Options{ModuleDir: root, Release: "1.3", Programs: programs}).modules(); err == nil {
		t.Errorf("unknown release: got %v, want an error", got)
	}
}

// checkout returns the module of these tests.
func checkout(t *testing.T) string {
	t.Helper()
	module, err := FindModule(".")
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func readGoMod(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkTools compares the tools of a go.mod with a list of programs.
func checkTools(t *testing.T, dir string, programs []Program) {
	t.Helper()
	block := regexp.MustCompile(`(?s)\ntool \((.*?)\)`).FindStringSubmatch(readGoMod(t, dir))
	if block == nil {
		t.Fatalf("%s has no tools", dir)
	}
	tools := strings.Fields(block[1])
	var packages []string
	for _, p := range programs {
		packages = append(packages, p.kubernetesPackage())
	}
	slices.Sort(tools)
	slices.Sort(packages)
	if !slices.Equal(tools, packages) {
		t.Errorf("%s has the tools\n%v\nhere are\n%v", dir, tools, packages)
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

// TestProgress: the estimate depends on the compiled bytes, and ignores unexpected packages.
func TestProgress(t *testing.T) {
	output := &buildOutput{total: map[string]int64{"a": 100, "b": 300}}
	if got, want := output.progress(time.Second), "0 packages compiled in 1 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := output.Write([]byte("a\nother\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := output.progress(19*time.Second), "24 % (2 of 2 packages) in 19 s, about 61 s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgramsLeadToTheirBinary: every program is a link to one file, and its key is written last.
func TestProgramsLeadToTheirBinary(t *testing.T) {
	b := &build{bin: t.TempDir(), key: "k"}
	one := binary{pkg: controlPlane, programs: []Program{Etcd, Kwok}}
	if err := os.WriteFile(b.path(one.name()), []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Program{Etcd, Kwok, Etcd} {
		if err := b.name(one, p); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(b.path(string(p))); err != nil || string(data) != "binary" || !built(b.path(string(p)), "k") {
			t.Errorf("%s: got %q, %v, built %t", p, data, err, built(b.path(string(p)), "k"))
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
		t.Error("a missing file counts as built")
	}
	write(path, "binary")
	if built(path, "k") {
		t.Error("a binary without a key counts as built")
	}
	write(keyFile(path), "k")
	if !built(path, "k") || built(path, "other") {
		t.Error("a binary with another key counts as built")
	}
}

func TestLockDir(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockDir(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	progress := reported{cancel: cancel}
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

// reported ends a context when something is written.
type reported struct {
	strings.Builder
	cancel context.CancelFunc
}

// Write implements io.Writer.
func (r *reported) Write(p []byte) (int, error) {
	r.cancel()
	return r.Builder.Write(p)
}
