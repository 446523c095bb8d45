package soak

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/testkit"
)

// quiet blocks writers and readers until off is called.
func (s *soak) quiet() (off func()) {
	for _, k := range s.kinds {
		s.writers[k].turn.Lock()
	}
	s.reading.Lock()
	return func() {
		s.reading.Unlock()
		for _, k := range s.kinds {
			s.writers[k].turn.Unlock()
		}
	}
}

// settle ends a chapter and begins the next.
func (s *soak) settle(t *testing.T) {
	t.Helper()
	off := s.quiet()
	defer off()
	s.chapter(t)
}

// chapter checks all events and answers that clients received in a chapter, and begins the next. The caller keeps
// quiet.
func (s *soak) chapter(t *testing.T) {
	t.Helper()
	marks := map[*kind]uint64{}
	for _, k := range s.kinds {
		marks[k] = s.writers[k].mark(t.Context())
	}
	s.await(t, marks)
	s.reopen(t)
	s.truth.complete(t)
	s.judge(t, int(s.world.Load()))
	for _, k := range s.kinds {
		s.truth.turn(k, marks[k])
	}
	s.marks = marks
	if t.Failed() {
		t.FailNow()
	}
}

// reopen makes every watcher continue with a new watch.
func (s *soak) reopen(t *testing.T) {
	t.Helper()
	var all errgroup.Group
	for _, w := range s.watchers {
		all.Go(func() error { return w.reopen(t.Context()) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// bridged returns the lost windows of a kind that the facade has replayed in a world. Versions of different worlds are
// not comparable.
func (s *soak) bridged(k *kind, world int) []testkit.LostWindow {
	gaps, _ := s.facade.LostWindows(k.GVR)
	all, of := gaps["json"], s.bridgedBefore[k]
	to := len(all)
	if world+1 < len(of) {
		to = of[world+1]
	}
	return all[of[world]:to]
}

// judge checks the events and answers that clients received in a world. The caller keeps quiet.
func (s *soak) judge(t *testing.T, world int) {
	t.Helper()
	var watches, events, reads, doubts int
	for _, k := range s.kinds {
		model, err := s.truth.model(k)
		if err != nil {
			t.Fatal(err)
		}
		var all []read
		for _, w := range s.watchers {
			if w.kind != k {
				continue
			}
			over, lists := w.collect(world)
			all = append(all, lists...)
			for _, r := range over {
				watches++
				events += r.Notified()
				gaps := s.bridged(k, world)
				if passed(r.Recording) {
					gaps = nil // kube-apiserver sent this watch, and lost nothing
				}
				if err := testkit.CheckReplayed(r.Recording, model, gaps...); err != nil {
					t.Errorf("%s, with the lost windows %v: %v", w, gaps, err)
				}
			}
		}
		for _, r := range s.readers {
			if r.kind == k {
				all = append(all, r.collect()...)
			}
		}
		reads += len(all)
		doubts += s.writers[k].doubts
		s.writers[k].doubts = 0
		for _, r := range all {
			if err := r.check(k, s.truth, model); err != nil {
				t.Errorf("%s: %v", k.GVR.Resource, err)
			}
		}
	}
	s.log("checked %d watches with %d events and %d reads, after %d refusals, %d relists by a 410, "+
		"and %d writes whose answers were lost", watches, events, reads, s.refusals.Swap(0), s.relisted.Swap(0), doubts)
}
