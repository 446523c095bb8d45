package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// readmePort is the port of the README's commands, the default of the facade.
const readmePort = "6443"

// The kubectl commands that `make run` prints, each with a text of its output. kubectl fails where the facade refuses.
var printedCommands = map[string]struct {
	want  string
	fails bool
}{
	"k --kubeconfig reader.kubeconfig describe node node-0":                {want: "kubernetes.io/hostname=node-0"},
	"k --kubeconfig reader.kubeconfig auth whoami":                         {want: "reader"},
	"k --kubeconfig alice.kubeconfig get deployments,configmaps -n team-a": {want: "deployment.apps/"},
	"k --kubeconfig alice.kubeconfig get pods -A":                          {want: "forbidden", fails: true},
	"k --kubeconfig alice.kubeconfig auth can-i list secrets -n team-a":    {want: "no", fails: true},
	"k --kubeconfig reader.kubeconfig get pods -A --watch":                 {want: "Running"},
}

// A reader starts the cluster and the facade, tries the printed commands, looks at the page, and presses Ctrl-C.
func TestMakeRun(t *testing.T) {
	settings.Long(t)
	shell := newReader(t)
	shell.Env = append(shell.Env, fmt.Sprint("PORT=", suite.FreePort(t)))
	run := shell.Start(t, document.Text(t, document.Readme, "Try it", 0))
	out := run.Await(t, "Ctrl-C stops everything.")
	shell.Run(t, "curl --fail --silent --show-error "+following(out, "The operator's page: "))
	tryPrinted(t, shell, out)
	run.Interrupt(t)
	dir := following(out, "\n  cd ")
	testkit.Eventually(t, "nothing is left", func() error {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the directory %q is left: %w", dir, err)
		}
		return noProcess(dir)
	})
}

// following returns the rest of the line after a text.
func following(out, text string) string {
	_, rest, _ := strings.Cut(out, text)
	rest, _, _ = strings.Cut(rest, "\n")
	return rest
}

// tryPrinted runs the printed commands: those with two spaces, after the ones that set the directory and the alias.
func tryPrinted(t *testing.T, shell *document.Shell, out string) {
	t.Helper()
	setup, tried := []string{"shopt -s expand_aliases"}, 0
	for line := range strings.Lines(out) {
		command, kubectl := strings.CutPrefix(strings.TrimSpace(line), "k ")
		switch {
		case !strings.HasPrefix(line, "  "):
		case kubectl:
			tryCommand(t, shell, setup, "k "+command)
			tried++
		default:
			setup = append(setup, command)
		}
	}
	if tried != len(printedCommands) {
		t.Errorf("make run printed %d commands, want %d:\n%s", tried, len(printedCommands), out)
	}
}

// tryCommand runs a printed command in a terminal of its own.
func tryCommand(t *testing.T, shell *document.Shell, setup []string, command string) {
	t.Helper()
	expected, known := printedCommands[command]
	if !known {
		t.Errorf("make run printed a command without an expected output: %s", command)
		return
	}
	if strings.HasSuffix(command, "--watch") {
		shell.Start(t, append(slices.Clone(setup), command)...).Await(t, expected.want)
		return
	}
	out, err := shell.Try(t, append(slices.Clone(setup), command)...)
	if err != nil {
		out = err.Error() // contains both outputs
	}
	if (err != nil) != expected.fails || !strings.Contains(out, expected.want) {
		t.Errorf("%s: got %v and\n%s\nwant an error: %t, and %q", command, err, out, expected.fails, expected.want)
	}
}

// A reader without a cluster's administrator compiles the facade, runs it with a kubeconfig, and watches pods.
func TestFacadeOfOneUser(t *testing.T) {
	settings.Long(t)
	listener, err := net.Listen("tcp", "127.0.0.1:"+readmePort)
	if err != nil {
		suite.MayMiss(t, "the port of the README's commands is in use")
		t.Skip("the port of the README's commands is in use")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cluster, shell := suite.Cluster(t), newReader(t)
	shell.Env = append(shell.Env, "PATH="+filepath.Dir(cluster.Binaries["kubectl"])+":"+os.Getenv("PATH"))
	home := t.TempDir()
	shell.Env = append(shell.Env, "HOME="+home, "KUBECONFIG=")
	config := filepath.Join(home, ".kube", "config")
	text, err := os.ReadFile(cluster.Kubeconfigs["admin"])
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(config), 0o700), os.WriteFile(config, text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	f := suite.NewFixture(t, cluster)
	run := shell.Start(t, document.Text(t, document.Readme, "Install it", 0))
	run.Await(t, "Serving")
	watch := strings.TrimSpace(document.Text(t, document.Readme, "Point clients at it", 0))
	server, _, _ := strings.Cut(watch, " get ")
	testkit.Eventually(t, "the facade is ready", func() error {
		_, err := shell.Try(t, server+" get --raw /readyz")
		return err
	})
	pods := shell.Start(t, watch)
	runPod(t, cluster, f.Namespace)
	pods.Await(t, f.Namespace)
	run.Interrupt(t)
}

// `make test` runs all packages, and CI runs `make test`. A test cannot run it, so make prints its commands.
func TestMakeTestRunsEverySuite(t *testing.T) {
	command := strings.TrimSpace(document.Text(t, document.Readme, "Test it", 0))
	printed := dryRun(t, command)
	for _, want := range []string{"test/race.sh -count=1 -short ", "go list ./...", "go test -vet=off -short -count=1 ./bench/internal/dataset"} {
		if !strings.Contains(printed, want) {
			t.Errorf("%s does not run %q:\n%s", command, want, printed)
		}
	}
	ci, err := os.ReadFile(filepath.Join(document.Root(t), ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(ci, []byte(" "+command+"\n")) {
		t.Errorf(".ci/run does not run %s", command)
	}
}

// The release and its image are for the reader's registry. The module deploy/release pushes to a registry in its tests,
// and TestInstallIntoEmptyCluster writes a release. Here make only prints the commands, because a release needs a
// working tree without changes, and builds everything twice.
func TestMakeReleasePush(t *testing.T) {
	const registry = "registry.example.com/platform"
	printed := dryRun(t, "REGISTRY="+registry, document.Text(t, document.Readme, "Install it", 2))
	for _, want := range []string{"deploy/release/release.sh", `-registry "` + registry + `" push`, `"` + registry + `" ""`} {
		if !strings.Contains(printed, want) {
			t.Errorf("make does not run %q:\n%s", want, printed)
		}
	}
}

// dryRun returns the commands that make would run.
func dryRun(t *testing.T, commands ...string) string {
	t.Helper()
	shell := document.NewShell(t, "")
	shell.Dir, shell.Env = document.Root(t), append(shell.Env, "MAKEFLAGS=n", "MAKELEVEL=0")
	return shell.Run(t, commands...)
}

// newReader returns a shell in a copy of the repository, as after git clone. It shares only the caches of the go
// command and of the devcluster.
func newReader(t *testing.T) *document.Shell {
	t.Helper()
	shell := document.NewShell(t, "")
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	variables, err := exec.CommandContext(t.Context(), "go", "env", "GOENV", "GOPATH", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.Split(string(variables), "\n")
	shell.Env = append(shell.Env, "XDG_CACHE_HOME="+caches, "GOENV="+values[0], "GOPATH="+values[1], "GOCACHE="+values[2],
		"GOMODCACHE="+values[3], "MAKEFLAGS=", "MAKELEVEL=0")
	copied := shell.Dir
	shell.Dir = document.Root(t)
	shell.Run(t, "git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read |"+
		" tar --extract --directory="+copied)
	shell.Dir = copied
	return shell
}

// noProcess returns an error if a process has a text in its command line.
func noProcess(text string) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, missing := os.ReadFile(file)
		if missing == nil && bytes.Contains(line, []byte(text)) {
			err = errors.Join(err, fmt.Errorf("a process still runs: %s", bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return err
}
