package informers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// clientsDir is the directory of the programs' sources.
var clientsDir = filepath.Join("..", "clients")

// program is an informer program.
type program struct {
	name    string
	agent   string   // what its requests begin their User-Agent with
	command []string // takes a kubeconfig, a namespace, and for client-go a media type
	accepts string   // the media type to ask for; empty: the library's default
	// relistsAtVersion is set if the program lists at its own version after a 410.
	relistsAtVersion bool
}

// generations are the modules of clientsDir. Typed clients of newer client-go releases request protobuf by default.
var generations = []struct {
	module string
	media  []string
}{
	{"client-go-0.37", []string{"", runtime.ContentTypeJSON}},
	{"client-go-0.34", []string{"", runtime.ContentTypeJSON}},
	{"client-go-0.30", []string{""}},
	{"client-go-0.22", []string{""}},
	{"client-go-0.18", []string{""}},
}

// informersOfAllAges builds and returns all programs. A short run has only those of the newest client-go, and node.
func informersOfAllAges(t *testing.T) []program {
	t.Helper()
	var programs []program
	for _, g := range generations[:settings.Amount(1, len(generations))] { // the newest first
		binary, err := filepath.Abs(filepath.Join(suite.Programs, g.module))
		if err != nil {
			t.Fatal(err)
		}
		if err := testkit.Compile(t.Context(), filepath.Join(clientsDir, g.module), binary, ".", testkit.Quickly()...); err != nil {
			t.Fatal(err)
		}
		for _, media := range g.media {
			p := program{name: g.module, command: []string{binary}, accepts: media, relistsAtVersion: true}
			if media != "" {
				p.name += "-json"
			}
			p.agent = p.name
			programs = append(programs, p)
		}
	}
	return append(programs, nodeInformer(t)...)
}

// nodeInformer returns the informer for node, or nothing if node is not installed.
func nodeInformer(t *testing.T) []program {
	t.Helper()
	dir := filepath.Join(clientsDir, "node")
	for _, tool := range []string{"node", "npm"} {
		if !hasTool(t, tool) {
			t.Logf("without %s, client-node is left out", tool)
			return nil
		}
	}
	installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	locked, lockErr := os.Stat(filepath.Join(dir, "package-lock.json"))
	if lockErr != nil {
		t.Fatal(lockErr)
	}
	if err != nil || installed.ModTime().Before(locked.ModTime()) {
		runIn(t, dir, "npm", "ci", "--no-audit", "--no-fund")
	}
	return []program{{name: "client-node", agent: "node-fetch", command: []string{"node", filepath.Join(dir, "informer.mjs")}}}
}

// hasTool reports whether a command is installed. It fails the test if clients are required and it is not.
func hasTool(t *testing.T, name string) bool {
	t.Helper()
	_, err := exec.LookPath(name)
	if err != nil {
		suite.MayMiss(t, err.Error())
	}
	return err == nil
}

// runIn runs a command in a directory, and fails the test if the command fails.
func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %s %v: %v\n%s", dir, name, args, err, out)
	}
}
