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

// informer is an informer in a separate process, with its output (test/clients/README.md).
type informer struct {
	program
	ask   io.Writer
	state chan string // answers to the question for it; closed when the process says no more

	mu     sync.Mutex // guards what follows
	synced int        // objects; -1 until it is
	held   map[string]uint64
	gone   map[string]uint64 // the version at which an object was last seen
	wrong  []string          // wrong events
}

// startInformer runs a program until the test ends.
func startInformer(t *testing.T, p program, kubeconfig, namespace string) *informer {
	t.Helper()
	i := &informer{program: p, state: make(chan string), synced: -1, held: map[string]uint64{}, gone: map[string]uint64{}}
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
	i.ask = stdin
	done := make(chan struct{})
	go func() { defer close(done); i.listen(stdout) }()
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
	return i
}

func (i *informer) listen(stdout io.Reader) {
	defer close(i.state)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if answer, ok := strings.CutPrefix(lines.Text(), "state "); ok {
			i.state <- answer
			continue
		}
		if err := i.take(lines.Text()); err != nil {
			i.mu.Lock()
			i.wrong = append(i.wrong, err.Error())
			i.mu.Unlock()
		}
	}
}

// take checks that an event is consistent with the earlier ones: no object is added twice or changed before it exists,
// and no version decreases.
func (i *informer) take(line string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var event, key string
	var rv uint64
	if n, err := fmt.Sscanf(line, "synced %d", &i.synced); n == 1 {
		return err
	}
	if _, err := fmt.Sscan(line, &event, &key, &rv); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	before, there := i.held[key]
	fits := there && rv >= before // after a relist client-go also reports unchanged objects
	switch event {
	case "add":
		before = i.gone[key]
		fits = !there && rv > before
		i.held[key] = rv
	case "update":
		i.held[key] = rv
	case "delete":
		delete(i.held, key)
		i.gone[key] = rv
	}
	if !fits {
		return fmt.Errorf("%q after version %d, there: %v", line, before, there)
	}
	return nil
}

// syncs waits until the informer has all objects.
func (i *informer) syncs(t *testing.T, objects int) {
	t.Helper()
	testkit.Eventually(t, i.name+" is synced", func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.synced != objects {
			return fmt.Errorf("%d objects, want %d", i.synced, objects)
		}
		return nil
	})
}

// errEnded is returned when the process has ended.
var errEnded = errors.New("the process has ended")

// holds compares the state by the informer's events, and its store, with the upstream's state (resourceVersions by
// key).
func (i *informer) holds(want map[string]string) error {
	if diff := difference(want, i.told()); diff != "" {
		return fmt.Errorf("its events result in another state: %s", diff)
	}
	if _, err := fmt.Fprintln(i.ask, "state"); err != nil {
		return err
	}
	state, ok := <-i.state
	if !ok {
		return errEnded
	}
	if state != digest(want) {
		return errors.New("its store differs from the state by its events")
	}
	return nil
}

// told returns the state by the events up to now.
func (i *informer) told() map[string]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	told := make(map[string]string, len(i.held))
	for key, rv := range i.held {
		told[key] = strconv.FormatUint(rv, 10)
	}
	return told
}

// errors returns the wrong events.
func (i *informer) errors() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.wrong)
}

// difference returns the number of differences of two states with an example, or an empty string.
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

// digest returns the digest of a state, as the programs compute it.
func digest(state map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(state)) {
		b.WriteString(key + " " + state[key] + "\n")
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))
}
