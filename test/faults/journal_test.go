package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// journalFiles returns the segments of all lanes in a journal. A name that begins with a dot is of an incomplete
// segment.
func journalFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "lanes", "*", "[^.]*.segment"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// awaitJournal waits until a journal has a file of its lane.
func awaitJournal(t *testing.T, dir string) {
	t.Helper()
	testkit.Eventually(t, "the lane is in the journal", func() error {
		if len(journalFiles(t, dir)) == 0 {
			return fs.ErrNotExist
		}
		return nil
	})
}

// change writes or removes one of twenty objects.
func change(t *testing.T, s *suite.Fixture, random *rand.Rand, round int) (written []uint64) {
	t.Helper()
	name := fmt.Sprint("o", random.IntN(20))
	if random.IntN(8) > 0 {
		return []uint64{s.Put(t, suite.ConfigMaps, name, "", fmt.Sprint(round))}
	}
	if s.Present(t, suite.ConfigMaps, metav1.ListOptions{})[s.Namespace+"/"+name] != "" {
		s.Remove(t, suite.ConfigMaps, name)
	}
	return nil
}

// A facade is killed at a random moment under writes, and started again, many times. Each time it continues from its
// journal: it sends no list, and its client neither lists again nor misses an event.
func TestKilledFacadeContinuesFromItsJournal(t *testing.T) {
	t.Parallel()
	s, random := suite.NewFixture(t, suite.Cluster(t)), settings.Random(t)
	tally, dir, address := suite.NewTally(t, suite.Cluster(t)), filepath.Join(t.TempDir(), "journal"), suite.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	start := func() *suite.Process {
		return suite.StartProcess(t, nil, tally.Kubeconfig, "--secure-port", port, "--journal-dir", dir, "--preload", "configmaps")
	}
	writes := change(t, s, random, 0)
	process := start()
	asker, err := testkit.NewAsker(&rest.Config{Host: "https://" + address, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	client := newResuming(t, asker, suite.Collection(suite.ConfigMaps, s.Namespace))
	writes = append(writes, s.Put(t, suite.ConfigMaps, "last", "", "0"))
	client.reaches(t, writes[len(writes)-1])
	awaitJournal(t, dir)
	_, _, listed := client.look()
	lists := func() int { return tally.Asked(suite.Asked{Way: suite.List, Resource: "configmaps"}) }
	for round := range settings.Amount(3, 100) {
		for range random.IntN(200) {
			writes = append(writes, change(t, s, random, round)...)
		}
		process.Kill(t)
		before := lists()
		for range random.IntN(20) {
			writes = append(writes, change(t, s, random, round)...)
		}
		process = start()
		writes = append(writes, s.Put(t, suite.ConfigMaps, "last", "", fmt.Sprint(round)))
		client.reaches(t, writes[len(writes)-1])
		testkit.Eventually(t, "the lane is filled", func() error {
			if sum(scraped(t, asker), "listfacade_lane_fills_total") == 0 {
				return errors.New("it is not filled")
			}
			return nil
		})
		if n := sum(scraped(t, asker), "listfacade_lane_fills_total", `source="journal"`); n != 1 {
			t.Fatalf("round %d: got %v lanes from the journal, want 1:\n%s", round, n, process.Said())
		}
		if n := lists() - before; n != 0 {
			t.Errorf("round %d: got %d lists at kube-apiserver, want 0", round, n)
		}
		compare := &testkit.Oracle{Upstream: s.Upstream, Facade: asker}
		compare.Compare(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace)})
	}
	if _, _, now := client.look(); now != listed {
		t.Errorf("the client listed %d times again, want 0", now-listed)
	}
	client.lostNothing(t, writes, s.Present(t, suite.ConfigMaps, metav1.ListOptions{}))
}

// keepsJournal configures a facade with a journal of config maps.
func keepsJournal(dir string) func(*facade.Config) {
	return func(c *facade.Config) { c.JournalDir, c.Preload = dir, []string{"configmaps"} }
}

// A journal with one flipped bit, or cut anywhere, is either not used or has the right content. The facade starts, and
// answers as kube-apiserver.
func TestDamagedJournalNeverAnswersWrong(t *testing.T) {
	t.Parallel()
	s, random := suite.NewFixture(t, suite.Cluster(t)), settings.Random(t)
	dir := t.TempDir()
	f := suite.StartFacade(t, suite.Cluster(t), keepsJournal(dir))
	awaitJournal(t, dir)
	for round := range 100 {
		change(t, s, random, round)
	}
	f.Close(t)
	whole := map[string][]byte{}
	for _, file := range journalFiles(t, dir) {
		content, err := os.ReadFile(file) //nolint:gosec // of this test
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		whole[name] = content
	}
	used := 0
	for range settings.Amount(4, 100) {
		damaged := t.TempDir()
		for name, content := range whole {
			content = append([]byte(nil), content...)
			if at := random.IntN(len(content)); random.IntN(4) > 0 {
				content[at] ^= 1 << random.IntN(8)
			} else {
				content = content[:at]
			}
			file := filepath.Join(damaged, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := suite.StartFacade(t, suite.Cluster(t), keepsJournal(damaged))
		oracle := s.Oracle(t, f)
		used += int(sum(scraped(t, oracle.Facade), "listfacade_lane_fills_total", `source="journal"`))
		oracle.Compare(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace) + "?resourceVersion=0"})
		oracle.Compare(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace)})
		f.Close(t)
	}
	t.Logf("%d damaged journals were used up to the damage", used)
}
