package replay

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// The incident of docs/time-travel.md. The commands are those of the page, with another journal, other moments and
// another namespace.
func TestIncidentOfThePage(t *testing.T) {
	cluster, dir := suite.Cluster(t), filepath.Join(t.TempDir(), "journal")
	namespace := suite.NewFixture(t, cluster).Namespace
	suite.StartFacade(t, cluster, func(c *facade.Config) {
		c.JournalDir, c.Preload = dir, []string{"deployments.apps"}
	})
	awaitLanes(t, dir, 1)
	blocks := pageBlocks(t)
	shell := newShell(t, cluster)
	shell.names = map[string]string{
		"/var/lib/listfacade/journal": dir, "BEFORE=03:45": "BEFORE=now", "AFTER=03:55": "AFTER=now", "-n shop": "-n " + namespace,
	}

	shell.must(`kubectl -n shop create deployment web --image web:1 --replicas 2`)
	shell.until("the journal has the deployment", "created", blocks.setup, blocks.log)
	awaitDiscovery(t, dir)
	shell.names["BEFORE=03:45"] = "BEFORE=" + time.Now().UTC().Format(time.RFC3339Nano)
	shell.must(`kubectl -n shop set image deployment/web web=web:2`)
	shell.until("the journal has the change", "web:1 -> web:2", blocks.setup, blocks.diff)

	for _, c := range []struct{ command, output string }{{blocks.diff, blocks.changes}, {blocks.log, blocks.history}} {
		got := strings.ReplaceAll(shell.must(blocks.setup, c.command), namespace, "shop")
		if diff := cmp.Diff(masked(c.output), masked(got)); diff != "" {
			t.Errorf("%s (-page +got):\n%s", c.command, diff)
		}
	}

	shell.background(blocks.setup, blocks.replay)
	testkit.Eventually(t, "replay serves", func() error {
		_, err := os.Stat(filepath.Join(shell.dir, "before.kubeconfig"))
		return err
	})
	got, want := strings.Fields(shell.must(blocks.get)), strings.Fields(blocks.table)
	if i := len(want)/2 + 6; len(got) != len(want) || got[i] != "web:1" || got[i] != want[i] {
		t.Errorf("got %v, want a table as on the page: %v", got, want)
	}
}

// page are the blocks of docs/time-travel.md, in their order.
type page struct{ setup, diff, changes, log, history, replay, get, table string }

func pageBlocks(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "time-travel.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?m)(?:^ {4,}.*\n)+`).FindAllString(string(text), -1)
	if len(blocks) != 8 {
		t.Fatalf("docs/time-travel.md has %d blocks, want 8", len(blocks))
	}
	return page{blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5], blocks[6], blocks[7]}
}

// Times and resourceVersions are others each time.
var (
	pageTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	pageVersion = regexp.MustCompile(`\b\d{2,}\b`)
)

// masked returns the lines of a table with single spaces, without times and resourceVersions.
func masked(table string) []string {
	var all []string
	for line := range strings.Lines(table) {
		line = pageVersion.ReplaceAllString(pageTime.ReplaceAllString(line, "TIME"), "VERSION")
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all
}

// shell runs commands with kubectl for the cluster, and the program.
type shell struct {
	t     *testing.T
	dir   string
	env   []string
	names map[string]string // names in commands, and what replaces them
}

func newShell(t *testing.T, cluster *testkit.Cluster) *shell {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{
		filepath.Dir(cluster.Binaries["kubectl"]), filepath.Dir(testkit.Program(t)), os.Getenv("PATH"),
	}, ":")
	return &shell{t: t, dir: t.TempDir(), env: append(os.Environ(), "KUBECONFIG="+testkit.WriteKubeconfig(t, config),
		"HOME="+t.TempDir(), "PATH="+path)}
}

func (s *shell) command(lines []string) *exec.Cmd {
	var names []string
	for name, own := range s.names {
		names = append(names, name, own)
	}
	script := strings.NewReplacer(names...).Replace(strings.Join(lines, "\n"))
	command := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env = s.dir, s.env
	return command
}

// must runs commands and returns their output.
func (s *shell) must(lines ...string) string {
	s.t.Helper()
	out, err := s.command(lines).Output()
	if err != nil {
		s.t.Fatal(failure(lines, out, err))
	}
	return string(out)
}

// until runs commands until their output contains a text.
func (s *shell) until(what, text string, lines ...string) {
	s.t.Helper()
	testkit.Eventually(s.t, what, func() error {
		out, err := s.command(lines).Output()
		if err == nil && strings.Contains(string(out), text) {
			return nil
		}
		return failure(lines, out, err)
	})
}

// background runs commands until the test ends.
func (s *shell) background(lines ...string) {
	s.t.Helper()
	lines[len(lines)-1] = "exec " + strings.TrimSpace(lines[len(lines)-1]) + " --listen 127.0.0.1:0"
	command := s.command(lines)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
}

func failure(lines []string, out []byte, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return fmt.Errorf("%s: %w\n%s", strings.Join(lines, "\n"), err, out)
}
