package informers

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// spectator is an informer in a process of its own, and what it says (test/clients/README.md).
type spectator struct {
	program
	ask   io.Writer
	state chan string // answers to the question for it; closed when the process says no more

	mu     sync.Mutex // guards what follows
	synced int        // objects; -1 until it is
	held   map[string]uint64
	gone   map[string]uint64 // the version at which an object was last seen
	wrong  []string          // what no informer may be told
}

// newSpectator runs a program until the test ends.
func newSpectator(t *testing.T, p program, kubeconfig, namespace string) *spectator {
	t.Helper()
	s := &spectator{program: p, state: make(chan string), synced: -1, held: map[string]uint64{}, gone: map[string]uint64{}}
	process := exec.Command(p.command[0], append(p.command[1:], kubeconfig, namespace, p.accepts)...)
	process.Args[0] = p.name // of which client-go makes the User-Agent
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	process.Stderr = said
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	s.ask = stdin
	done := make(chan struct{})
	go func() { defer close(done); s.listen(stdout) }()
	t.Cleanup(func() {
		stdin.Close()
		<-done
		if err := process.Wait(); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		if text, err := os.ReadFile(said.Name()); t.Failed() {
			t.Logf("%s said: %s %v", p.name, text, err)
		}
		said.Close()
	})
	return s
}

func (s *spectator) listen(stdout io.Reader) {
	defer close(s.state)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if answer, ok := strings.CutPrefix(lines.Text(), "state "); ok {
			s.state <- answer
			continue
		}
		if err := s.take(lines.Text()); err != nil {
			s.mu.Lock()
			s.wrong = append(s.wrong, err.Error())
			s.mu.Unlock()
		}
	}
}

// take holds that an event fits to those before it: nothing appears twice or changes before it is there, and nothing goes back.
func (s *spectator) take(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var event, key string
	var rv uint64
	if n, err := fmt.Sscanf(line, "synced %d", &s.synced); n == 1 {
		return err
	}
	if _, err := fmt.Sscan(line, &event, &key, &rv); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	before, there := s.held[key]
	fits := there && rv >= before // of a relist, client-go tells also what is as it was
	switch event {
	case "add":
		before = s.gone[key]
		fits = !there && rv > before
		s.held[key] = rv
	case "update":
		s.held[key] = rv
	case "delete":
		delete(s.held, key)
		s.gone[key] = rv
	}
	if !fits {
		return fmt.Errorf("%q after version %d, there: %v", line, before, there)
	}
	return nil
}

// syncs waits until the informer has what is there.
func (s *spectator) syncs(t *testing.T, objects int) {
	t.Helper()
	testkit.Eventually(t, clientPatience, s.name+" is synced", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.synced != objects {
			return fmt.Errorf("%d objects, want %d", s.synced, objects)
		}
		return nil
	})
}

// errSilent says that a process has ended.
var errSilent = errors.New("it has ended")

// holds compares what an informer's events add up to, and then its store, with what is there (key to resourceVersion).
func (s *spectator) holds(want map[string]string) error {
	if diff := difference(want, s.told()); diff != "" {
		return fmt.Errorf("its events add up to something else: %s", diff)
	}
	if _, err := fmt.Fprintln(s.ask, "state"); err != nil {
		return err
	}
	state, ok := <-s.state
	if !ok {
		return errSilent
	}
	if state != digest(want) {
		return errors.New("its store is not what its events add up to")
	}
	return nil
}

// told is what the events up to now add up to.
func (s *spectator) told() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := make(map[string]string, len(s.held))
	for key, rv := range s.held {
		told[key] = strconv.FormatUint(rv, 10)
	}
	return told
}

// errors are what it was told and should not have been.
func (s *spectator) errors() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrong)
}

// difference counts what differs between two states and shows one example; empty if nothing does.
func difference(want, got map[string]string) string {
	count, example := 0, ""
	for _, keys := range []map[string]string{want, got} {
		for key := range keys {
			if want[key] != got[key] {
				count++
				example = fmt.Sprintf("%s at %q, want %q", key, got[key], want[key])
			}
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%d and %d objects, as in %s", len(got), len(want), example)
}

// digest sums up a state as the programs do.
func digest(state map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(state)) {
		b.WriteString(key + " " + state[key] + "\n")
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))
}
