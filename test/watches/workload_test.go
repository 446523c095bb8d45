package watches

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// workload is a running script.
type workload struct {
	*slot
	name      string // of everything that is the script's own
	namespace string
	versions  []uint64 // of its writes
	phases    map[string]*phase
	watches   []*watching // in the script's order
}

// run runs a script in a slot: it writes, opens watches on both servers, and compares their events.
func (s *slot) run(t *testing.T, name string, script testkit.Script) {
	t.Helper()
	p := &workload{slot: s, name: name, namespace: name + "-ns", phases: map[string]*phase{}}
	p.build(t)
	for _, resource := range p.resources(script) {
		p.begin(t, resource)
	}
	for i, step := range script {
		p.do(t, step)
		if t.Failed() {
			t.Logf("after step %d: %s", i, step.Line())
			break
		}
	}
	for _, resource := range p.resources(script) {
		if d, custom := s.defined[resource]; custom && d != (definition{}) {
			p.redefine(t, resource, definition{}) // for the next
		}
		p.phases[resource].end(t, nil)
	}
}

// resources are the resources of a script.
func (p *workload) resources(script testkit.Script) []string {
	var all []string
	for _, step := range script {
		resource, _ := step.Fill(p.known(), []uint64{1}).Question.Collection()
		if resource == "" && len(step.Words) > 1 {
			resource = step.Words[0]
		}
		if resource != "" && !slices.Contains(all, resource) {
			all = append(all, resource)
		}
	}
	return all
}

func (p *workload) known() map[string]string {
	return map[string]string{"namespace": p.namespace, "run": p.name, "group": p.group}
}

func (p *workload) do(t *testing.T, step testkit.Step) {
	t.Helper()
	step = step.Fill(p.known(), p.versionsFor(step))
	word := func(i int) string { return step.Words[i] }
	switch step.Do {
	case testkit.Put:
		p.put(t, word(0), word(1), word(2), word(3))
	case testkit.Delete:
		p.remove(t, word(0), word(1))
	case testkit.Clear:
		p.clear(t, word(0), word(1))
	case testkit.Hold:
		p.hold(t, word(0), word(1), finalizer)
	case testkit.Release:
		p.release(t, word(0), word(1))
	case testkit.Bind:
		p.bindTo(t, word(1), word(2))
	case testkit.Redefine:
		p.redefine(t, word(0), p.defined[word(0)].changed(word(1)))
	case testkit.Recreate:
		p.recreate(t, word(0))
	case testkit.Destroy:
		p.destroy(t)
	case testkit.Watch:
		p.watch(t, step.Question)
	case testkit.Resume:
		if n, _ := strconv.Atoi(word(0)); n <= len(p.watches) {
			p.resume(t, p.watches[n-1])
		}
	case testkit.Compare:
		if _, diff := p.oracle.Difference(t, step.Question); diff != "" {
			t.Errorf("%s\n%s", step.Question.Line(), diff)
		}
	}
}

// versionsFor returns the versions that a step may name. Versions before a change of the definition cannot be watched.
func (p *workload) versionsFor(step testkit.Step) []uint64 {
	resource, _ := step.Fill(p.known(), []uint64{1}).Question.Collection()
	if e := p.phases[resource]; e != nil {
		return p.versions[e.first:]
	}
	return append([]uint64{1}, p.versions...)
}

// changed returns a definition with one part changed.
func (d definition) changed(part string) definition {
	switch part {
	case "columns":
		d.column = !d.column
	case "fields":
		d.unselectable = !d.unselectable
	case "versions":
		d.version = !d.version
	case "note":
		d.note = !d.note
	}
	return d
}

// redefine changes a definition. All watches of the resource end, unless only the definition's metadata changes.
func (p *workload) redefine(t *testing.T, resource string, d definition) {
	t.Helper()
	was := p.defined[resource]
	if was.note = d.note; was == d {
		p.define(t, resource, d)
		return
	}
	p.phases[resource].end(t, func() { p.define(t, resource, d) })
	p.begin(t, resource)
}

// recreate deletes a definition with all objects, and creates it again.
func (p *workload) recreate(t *testing.T, resource string) {
	t.Helper()
	p.phases[resource].end(t, func() { p.undefine(t, resource) })
	p.define(t, resource, p.defined[resource])
	p.begin(t, resource)
}

// mark writes an object that marks the end of the writes to a resource, and returns its version.
func (p *workload) mark(t *testing.T, resource string) uint64 {
	t.Helper()
	return p.put(t, resource, p.name+"-mark", "mark="+strconv.Itoa(len(p.versions)), "0")
}

// watch opens a watch on both servers.
func (p *workload) watch(t *testing.T, q testkit.Question) *watching {
	t.Helper()
	w := p.phases[resourceOf(q)].open(t, q)
	p.watches = append(p.watches, w)
	return w
}

func resourceOf(q testkit.Question) string {
	resource, _ := q.Collection()
	return resource
}

// resume cancels an open watch that has sent events, and opens one that resumes at the facade's version.
func (p *workload) resume(t *testing.T, w *watching) {
	t.Helper()
	told := w.Facade.SoFar()
	if e := p.phases[resourceOf(w.q)]; !slices.Contains(e.watches, w) || w.cut || w.timed() || told.Failed() || told.Reached() == 0 || !suite.Begun(told) {
		return
	}
	w.cut = true
	reached := w.Facade.Close().Reached()
	w.Upstream.Close()
	p.watch(t, w.q.From(reached))
}

// recording is a function that records a watch.
type recording func(*testkit.Asker, context.Context, testkit.Question) (*testkit.Recorder, error)

// openBoth opens a watch on both servers concurrently, because some watches wait before they begin.
func (p *workload) openBoth(t *testing.T, q testkit.Question, record recording) suite.Pair {
	t.Helper()
	var both suite.Pair
	var asking errgroup.Group
	open := func(asker *testkit.Asker, to **testkit.Recorder) func() error {
		return func() (err error) {
			if *to, err = record(asker, t.Context(), q); err != nil {
				return fmt.Errorf("%s: %w", q.Line(), err)
			}
			return nil
		}
	}
	asking.Go(open(p.oracle.Upstream, &both.Upstream))
	asking.Go(open(p.oracle.Facade, &both.Facade))
	err := asking.Wait()
	t.Cleanup(func() {
		for _, r := range []*testkit.Recorder{both.Upstream, both.Facade} {
			if r != nil {
				r.Close()
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return both
}
