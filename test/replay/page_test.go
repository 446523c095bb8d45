package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
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
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	shell := document.NewShell(t, testkit.WriteKubeconfig(t, config),
		filepath.Dir(cluster.Binaries["kubectl"]), filepath.Dir(testkit.Program(t)))
	shell.Names = map[string]string{
		"/var/lib/listfacade/journal": dir, "BEFORE=03:45": "BEFORE=now", "AFTER=03:55": "AFTER=now", "-n shop": "-n " + namespace,
	}

	shell.Run(t, `kubectl -n shop create deployment web --image web:1 --replicas 2`)
	until(t, shell, "the journal has the deployment", "created", blocks.setup, blocks.log)
	awaitDiscovery(t, dir)
	shell.Names["BEFORE=03:45"] = "BEFORE=" + time.Now().UTC().Format(time.RFC3339Nano)
	shell.Run(t, `kubectl -n shop set image deployment/web web=web:2`)
	until(t, shell, "the journal has the change", "web:1 -> web:2", blocks.setup, blocks.diff)

	for _, c := range []struct{ command, output string }{{blocks.diff, blocks.changes}, {blocks.log, blocks.history}} {
		got := strings.ReplaceAll(shell.Run(t, blocks.setup, c.command), namespace, "shop")
		if diff := cmp.Diff(masked(c.output), masked(got)); diff != "" {
			t.Errorf("%s (-page +got):\n%s", c.command, diff)
		}
	}

	shell.Start(t, blocks.setup, "exec "+strings.TrimSpace(blocks.replay)+" --listen 127.0.0.1:0")
	testkit.Eventually(t, "replay serves", func() error {
		_, err := os.Stat(filepath.Join(shell.Dir, "before.kubeconfig"))
		return err
	})
	got, want := strings.Fields(shell.Run(t, blocks.get)), strings.Fields(blocks.table)
	if i := len(want)/2 + 6; len(got) != len(want) || got[i] != "web:1" || got[i] != want[i] {
		t.Errorf("got %v, want a table as on the page: %v", got, want)
	}
}

// page are the blocks of docs/time-travel.md, in their order.
type page struct{ setup, diff, changes, log, history, replay, get, table string }

func pageBlocks(t *testing.T) page {
	t.Helper()
	block := func(number int) string { return document.Text(t, document.TimeTravel, "An incident", number) }
	return page{block(0), block(1), block(2), block(3), block(4), block(5), block(6), block(7)}
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

// until runs commands until their output contains a text.
func until(t *testing.T, shell *document.Shell, what, text string, commands ...string) {
	t.Helper()
	testkit.Eventually(t, what, func() error {
		out, err := shell.Try(t, commands...)
		if err == nil && !strings.Contains(out, text) {
			err = fmt.Errorf("%s\n%s", strings.Join(commands, "\n"), out)
		}
		return err
	})
}
