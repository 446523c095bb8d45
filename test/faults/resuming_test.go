package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
)

// resuming is a minimal reflector: it lists, watches, resumes where a watch ended, and lists again after a 410. It
// records which events it received, and how often.
type resuming struct {
	asker *testkit.Asker
	path  string

	mu     sync.Mutex // guards what follows
	told   map[uint64]int
	gaps   []gap // what relists jumped over
	last   uint64
	state  map[string]uint64
	opened int // watches
	broken error
}

// gap is an interval of versions, after from and up to to, that a relist skipped.
type gap struct{ from, to uint64 }

// newResuming starts a client, which runs until the test ends.
func newResuming(t *testing.T, asker *testkit.Asker, path string) *resuming {
	t.Helper()
	r := &resuming{asker: asker, path: path, told: map[uint64]int{}, state: map[string]uint64{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

// pause is the time between attempts of a client whose server fails.
const pause = 50 * time.Millisecond

func (r *resuming) run(ctx context.Context) {
	listed := false
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for ctx.Err() == nil {
		var err error
		if !listed {
			err = r.list(ctx)
			listed = err == nil
		}
		if listed {
			err = r.watch(ctx)
			listed = !errors.Is(err, errGone)
		}
		var fatal *fatalError
		if errors.As(err, &fatal) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.broken = err
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

var errGone = errors.New("410")

// fatalError is an answer that no correct server sends.
type fatalError struct{ reason string }

func (e *fatalError) Error() string { return e.reason }

func (r *resuming) list(ctx context.Context) error {
	answer, err := r.asker.Ask(ctx, testkit.Question{Path: r.path})
	if err != nil {
		return err
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []struct {
			Metadata struct{ Namespace, Name, ResourceVersion string }
		}
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil || answer.Code != http.StatusOK {
		return fmt.Errorf("%d: %w", answer.Code, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.last
	if _, err := fmt.Sscan(list.Metadata.ResourceVersion, &r.last); err != nil {
		return err
	}
	if r.last < from {
		return &fatalError{fmt.Sprintf("a most recent list at %d after %d", r.last, from)}
	}
	r.gaps = append(r.gaps, gap{from, r.last})
	r.state = map[string]uint64{}
	for _, item := range list.Items {
		var rv uint64
		if _, err := fmt.Sscan(item.Metadata.ResourceVersion, &rv); err != nil {
			return err
		}
		r.state[item.Metadata.Namespace+"/"+item.Metadata.Name] = rv
	}
	return nil
}

func (r *resuming) watch(ctx context.Context) error {
	r.mu.Lock()
	q := testkit.Question{Path: fmt.Sprintf("%s?watch=1&allowWatchBookmarks=true&resourceVersion=%d", r.path, r.last)}
	r.mu.Unlock()
	response, err := r.asker.Open(ctx, q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("watch: %s", response.Status)
	}
	r.mu.Lock()
	r.opened++
	r.mu.Unlock()
	for body := bufio.NewReader(response.Body); ; {
		line, err := body.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.take(testkit.Frame{Line: line}); err != nil {
			return err
		}
	}
}

func (r *resuming) take(frame testkit.Frame) error {
	e, err := frame.Event()
	if err != nil {
		return &fatalError{err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Type {
	case "ERROR":
		var status struct{ Code int }
		if err := json.Unmarshal(e.Object, &status); err != nil || status.Code != http.StatusGone {
			return &fatalError{"an error that is no 410: " + string(e.Object)}
		}
		return errGone
	case testkit.Bookmark:
		if e.RV < r.last {
			return &fatalError{fmt.Sprintf("%s after %d", e, r.last)}
		}
	default:
		_, has := r.state[e.Key]
		again := e.Type == testkit.Deleted && has && e.RV == r.last // a deletion in a replay
		if e.RV <= r.last && !again {
			return &fatalError{fmt.Sprintf("%s after %d", e, r.last)}
		}
		if !again {
			r.told[e.RV]++
		}
		r.state[e.Key] = e.RV
		if e.Type == testkit.Deleted {
			delete(r.state, e.Key)
		}
	}
	r.last = e.RV
	return nil
}

// look returns the client's version, and the numbers of its watches and lists.
func (r *resuming) look() (last uint64, opened, listed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.opened, len(r.gaps)
}

// reaches waits until the client has a version.
func (r *resuming) reaches(t *testing.T, rv uint64) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("the client reaches %d", rv), func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.broken != nil {
			t.Fatal(r.broken)
		}
		if r.last < rv {
			return fmt.Errorf("it is at %d", r.last)
		}
		return nil
	})
}

// lostNothing checks that the client received every write once, unless a relist skipped it, and that its state is the
// upstream's. In a lost window that the facade has replayed, it receives the last write of each object.
func (r *resuming) lostNothing(t *testing.T, writes []uint64, there map[string]string, bridged ...testkit.LostWindow) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		t.Fatal(r.broken)
	}
	for _, rv := range writes {
		jumped := false
		for _, lost := range r.gaps {
			jumped = jumped || (lost.from < rv && rv <= lost.to)
		}
		if in := func(g testkit.LostWindow) bool { return g.From < rv && rv <= g.To }; slices.ContainsFunc(bridged, in) && r.told[rv] <= 1 {
			continue
		}
		if want := map[bool]int{true: 0, false: 1}[jumped]; r.told[rv] != want {
			t.Errorf("got the write at %d %d times, want %d (relisted: %v)", rv, r.told[rv], want, r.gaps)
		}
	}
	got := map[string]string{}
	for key, rv := range r.state {
		got[key] = fmt.Sprint(rv)
	}
	if diff := cmp.Diff(there, got); diff != "" {
		t.Errorf("the client's state (-upstream +client):\n%s", diff)
	}
}
