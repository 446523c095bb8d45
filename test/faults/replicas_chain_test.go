package faults

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// chain is a sequence of recorded watches. Each resumes where the last one ended, or starts from a new list.
type chain struct {
	asker   *testkit.Asker
	path    string // with selectors
	form    http.Header
	relists bool

	mu      sync.Mutex // guards what follows
	last    uint64
	watches []*testkit.Recording
	lists   []reading
	timeout int // watches that ended because their time was over
	refused []string
	opened  time.Time          // when the watch that follows was asked for
	now     *testkit.Recording // what it has told
}

// start starts after a version. The chain runs until stop is called or the test ends.
func (c *chain) start(t *testing.T, from uint64) (stop func()) {
	t.Helper()
	c.last = from
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for ctx.Err() == nil {
			c.watch(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// watch opens one watch and stores its recording when it has ended.
func (c *chain) watch(ctx context.Context) {
	if c.relists {
		c.list(ctx)
	}
	c.mu.Lock()
	q := testkit.Question{Path: fmt.Sprintf("%s&watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=%d", c.path, c.last), Header: c.form}
	c.opened, c.now = time.Now(), nil
	c.mu.Unlock()
	recorder, err := c.asker.Record(ctx, q)
	if err != nil {
		return // the connection was broken
	}
	ended := false
	for !ended {
		select {
		case <-recorder.Done():
			ended = true
		case <-time.After(pause): //pace: so that others learn how far it is
		}
		c.note(recorder.SoFar(), ended)
	}
}

// list moves the chain to the most recent version.
func (c *chain) list(ctx context.Context) {
	q := testkit.Question{Path: c.path, Header: c.form}
	answer, err := c.asker.Ask(ctx, q)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists = append(c.lists, reading{q, answer, c.last})
	c.last = max(c.last, versions(answer)[0])
}

func (c *chain) note(r *testkit.Recording, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = r
	if r.Code != http.StatusOK {
		if ended {
			c.refused = append(c.refused, fmt.Sprintf("%d %s", r.Code, r))
		}
		return
	}
	c.last = max(c.last, r.Reached())
	if !ended {
		return
	}
	c.watches = append(c.watches, r)
	if r.Err == nil {
		c.timeout++
	}
}

// look returns the chain's version, and the number of watches that ended by their timeout.
func (c *chain) look() (last uint64, timeout int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.timeout
}

// reaches waits until the chain has a version.
func (c *chain) reaches(t *testing.T, rv uint64) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s reaches %d", c.path, rv), func() error {
		return c.behind(rv)
	})
}

// behind returns an error that explains why the chain has not reached a version.
func (c *chain) behind(rv uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last < rv {
		return fmt.Errorf("it is at %d after %d watches; the last one, opened at %s, sent %v; refused: %v",
			c.last, len(c.watches), c.opened.Format(time.TimeOnly), c.now, c.refused)
	}
	return nil
}

// lostNothing checks every watch of a stopped chain against the model: none misses or repeats an event. As each starts
// where the last one ended, the chain is complete.
func (c *chain) lostNothing(t *testing.T, m *testkit.Model) {
	t.Helper()
	for _, r := range c.watches {
		if err := testkit.CheckWatch(r, m); err != nil {
			t.Error(err)
		}
	}
	for _, list := range c.lists {
		if err := testkit.CheckRead(list.question, list.answer, list.floor, m); err != nil {
			t.Error(err)
		}
	}
	for _, answer := range c.refused {
		t.Errorf("%s: refused: %s", c.path, answer)
	}
}

// chains are one chain per representation, several with selectors, and one that lists. All receive the object named
// mark with the label t=a.
type chains []*chain

func newChains(asker *testkit.Asker, path string) chains {
	var all chains
	for i, selector := range []string{"", "t=a", "t in (a,none)", "t!=b", "t"} {
		accept := [...]string{suite.AcceptJSON, suite.AcceptPartial, suite.AcceptTable}[i%3]
		all = append(all, &chain{asker: asker, path: path + "?labelSelector=" + url.QueryEscape(selector), form: suite.Accepting(accept)})
	}
	return append(all,
		&chain{asker: asker, path: path + "?fieldSelector=metadata.name%3Dmark", form: suite.Accepting(suite.AcceptJSON)},
		&chain{asker: asker, path: path + "?labelSelector=", relists: true})
}

// reach waits until all chains have a version.
func (all chains) reach(t *testing.T, rv uint64) {
	t.Helper()
	for _, c := range all {
		c.reaches(t, rv)
	}
}

// lostNothing checks all stopped chains, and returns the number of their watches.
func (all chains) lostNothing(t *testing.T, m *testkit.Model) (watches int) {
	t.Helper()
	for _, c := range all {
		c.lostNothing(t, m)
		watches += len(c.watches)
	}
	return watches
}
