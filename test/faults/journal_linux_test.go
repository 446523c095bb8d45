package faults

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A full disk stops only the journal. Clients receive all events, and when there is space again, the journal continues.
// The next process starts from it.
func TestFullDiskStopsOnlyTheJournal(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("journal", dir, "tmpfs", 0, "size=1m,mode=700"); err != nil {
		suite.MayMiss(t, "a small disk cannot be mounted")
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	s := suite.NewFixture(t, suite.Cluster(t))
	f := suite.StartFacade(t, suite.Cluster(t), keepsJournal(dir))
	oracle := s.Oracle(t, f)
	client := newResuming(t, oracle.Facade, suite.Collection(suite.ConfigMaps, s.Namespace))
	awaitJournal(t, dir)
	var writes []uint64
	write := func(value string) {
		writes = append(writes, s.Put(t, suite.ConfigMaps, fmt.Sprint("large", len(writes)%3), "", value))
		client.reaches(t, writes[len(writes)-1])
	}
	failed := func() float64 { return sum(scraped(t, oracle.Facade), "listfacade_journal_errors_total") }
	testkit.Eventually(t, "the disk is full", func() error {
		write(incompressible(len(writes), 100<<10))
		if failed() == 0 {
			return errors.New("no attempt to write has failed")
		}
		return nil
	})
	for range 5 {
		write("small")
	}
	if err := syscall.Mount("journal", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m,mode=700"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the journal is written", func() error {
		write("small again")
		if lag := sum(scraped(t, oracle.Facade), "listfacade_journal_lag_seconds"); lag > 5 {
			return fmt.Errorf("it was last written %v s ago", lag)
		}
		return nil
	})
	client.lostNothing(t, writes, s.Present(t, suite.ConfigMaps, metav1.ListOptions{}))
	f.Close(t)
	next := suite.StartFacade(t, suite.Cluster(t), keepsJournal(dir))
	oracle = s.Oracle(t, next)
	oracle.Compare(t, testkit.Question{Path: suite.Collection(suite.ConfigMaps, s.Namespace)})
	if n := sum(scraped(t, oracle.Facade), "listfacade_lane_fills_total", `source="journal"`); n != 1 {
		t.Errorf("got %v lanes from the journal, want 1: %v", n, next.Logs.All())
	}
	next.Close(t)
}

// incompressible returns a text that cannot be compressed to less than half.
func incompressible(seed, length int) string {
	text, state := make([]byte, length), uint64(seed)*2862933555777941757+3037000493
	for i := range text {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		text[i] = 'a' + byte(state>>32)%26
	}
	return string(text)
}
