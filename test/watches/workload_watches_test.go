package watches

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// phase is the time of one definition of a resource, or a complete workload. Its watches are compared at its end, with
// the other server's watch and with kube-apiserver's watch of all objects.
type phase struct {
	*workload
	resource string
	began    uint64 // the version of its first write
	first    int    // where in the workload's versions that is
	all      *watching
	watches  []*watching
}

// watching is one watch on both servers.
type watching struct {
	suite.Pair
	q      testkit.Question
	opened uint64 // what was written last before
	cut    bool   // it was broken off
}

// timed reports whether a watch has a short timeout.
func (w *watching) timed() bool { return strings.Contains(w.q.Path, "timeoutSeconds=") }

// begin waits until both servers cache the resource, so that later events are in the windows of both.
func (p *workload) begin(t *testing.T, resource string) {
	t.Helper()
	e := &phase{workload: p, resource: resource}
	p.phases[resource] = e
	p.settle(t, resource, 0)
	e.first = len(p.versions)
	e.began = p.mark(t, resource)
	q := testkit.Question{Path: suite.Collection(p.gvr(resource), "") + "?watch=1&allowWatchBookmarks=true"}
	if _, custom := p.defined[resource]; !custom {
		q.Path += "&labelSelector=run%3D" + p.name // others write it, too
	}
	e.all = &watching{Pair: p.openBoth(t, q, (*testkit.Asker).RecordWhole), q: q, opened: e.began}
	e.watches = append(e.watches, e.all)
}

// open opens a watch on both servers. If its initial events depend on the caches, it first waits until these are equal.
func (e *phase) open(t *testing.T, q testkit.Question) *watching {
	t.Helper()
	w := &watching{q: q}
	if !q.StartsAtVersion() {
		w.opened = e.mark(t, e.resource)
	}
	if q.StartsFromCache() {
		e.settle(t, e.resource, w.opened)
	}
	w.Pair = e.openBoth(t, q, (*testkit.Asker).Record)
	e.watches = append(e.watches, w)
	return w
}

// settle waits until both caches have a version.
func (p *workload) settle(t *testing.T, resource string, version uint64) {
	t.Helper()
	path := suite.Collection(p.gvr(resource), "") + "?resourceVersion=0&limit=1&labelSelector=no.such%3Dlabel"
	for _, asker := range []*testkit.Asker{p.oracle.Upstream, p.oracle.Facade} {
		testkit.Eventually(t, "the cache has the writes", func() error {
			answer, err := asker.Ask(t.Context(), testkit.Question{Path: path})
			if err != nil {
				return err
			}
			var list struct {
				Metadata struct{ ResourceVersion string }
			}
			if err := json.Unmarshal(answer.Body, &list); err != nil {
				return err
			}
			at, err := strconv.ParseUint(list.Metadata.ResourceVersion, 10, 64)
			if err != nil || at < version {
				return fmt.Errorf("it is at %d, want %d: %s", at, version, answer.Body)
			}
			return nil
		})
	}
	testkit.Eventually(t, "the facade caches the resource", func() error {
		// A request starts a lane that has ended.
		if _, err := p.oracle.Facade.Ask(t.Context(), testkit.Question{Path: path}); err != nil {
			return err
		}
		return p.cached(p.gvr(resource), version)
	})
}

// cached returns an error unless the facade's lane has a version. A list does not show that, as it may be forwarded.
func (s *slot) cached(gvr schema.GroupVersionResource, version uint64) error {
	for _, lane := range s.server.Lanes() {
		switch {
		case lane.Group != gvr.Group || lane.Version != gvr.Version || lane.Resource != gvr.Resource:
			continue
		case !lane.Synced:
			return errors.New("it is not synced")
		case lane.ResourceVersion < version:
			return fmt.Errorf("it is at %d", lane.ResourceVersion)
		}
		return nil
	}
	return errors.New("there is no lane")
}

// end compares all watches. If an act is given, which ends all watches, it runs first, and the ends are compared, too.
func (e *phase) end(t *testing.T, act func()) {
	t.Helper()
	last := e.mark(t, e.resource)
	e.all.Upstream.Until(t, "the last write", func(r *testkit.Recording) bool { return r.Reached() >= last })
	model := e.model(t)
	for _, w := range e.watches {
		e.await(t, w, model)
	}
	if act != nil {
		act()
		for _, w := range e.watches {
			e.ended(t, w)
		}
		model = e.model(t) // with what the act did
	}
	for _, w := range e.watches {
		want, got := w.Upstream.Close(), w.Facade.Close()
		if diff := w.difference(want, got, act != nil); diff != "" {
			t.Errorf("watch %s\n%s", w.q.Line(), diff)
		}
		w.check(t, "facade", got, model)
		if w == e.all || w.q.EndsMarked() {
			w.check(t, "kube-apiserver", want, model)
		}
	}
}

// model returns the model of kube-apiserver's watch of all objects up to now.
func (e *phase) model(t *testing.T) *testkit.Model {
	t.Helper()
	model, err := testkit.NewModel(e.all.Upstream.SoFar())
	if err != nil {
		t.Fatal(err)
	}
	model.Close(e.began)
	return model
}

// await waits until both servers have sent the events of the model, or the watch has ended.
func (e *phase) await(t *testing.T, w *watching, model *testkit.Model) {
	t.Helper()
	if w.cut {
		return
	}
	if w.timed() {
		e.ended(t, w)
		return
	}
	n, err := model.Expected(w.q, w.opened)
	if err != nil {
		n = math.MaxInt // it is refused, and ends
	}
	enough := func(r *testkit.Recording) bool { return r.Notified() >= n }
	w.Upstream.Await(enough)
	w.Facade.Await(enough)
}

// ended waits until both servers have ended a watch.
func (e *phase) ended(t *testing.T, w *watching) {
	t.Helper()
	if w.cut {
		return
	}
	for server, r := range map[string]*testkit.Recorder{"kube-apiserver": w.Upstream, "facade": w.Facade} {
		select {
		case <-r.Done():
		case <-time.After(suite.Patience):
			t.Errorf("%s: the watch did not end: %s\n%s", server, w.q.Line(), r.SoFar())
		}
	}
}

func (w *watching) difference(want, got *testkit.Recording, ended bool) string {
	whole := func() string {
		return testkit.DiffRecordings(want.Through(math.MaxUint64), got.Through(math.MaxUint64))
	}
	switch {
	case w.cut:
		return testkit.DiffBegun(want, got)
	case w.timed():
		return testkit.DiffBegun(want, got) + testkit.DiffEnds(want, got)
	case ended, want.Failed(), got.Failed():
		return whole() + testkit.DiffEnds(want, got)
	}
	return whole()
}

// check checks one recording against the model, if it did not fail and has a known start.
func (w *watching) check(t *testing.T, server string, r *testkit.Recording, model *testkit.Model) {
	t.Helper()
	if r.Failed() {
		return
	}
	if err := testkit.CheckWatch(r, model); err != nil && !errors.Is(err, testkit.ErrStartUnknown) {
		t.Errorf("%s: %v", server, err)
	}
}
