package soak

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/internal/testkit"
)

// quiet holds back writers and readers until it is called off.
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

// chapter holds everything that clients were told and answered in a chapter against what happened, and turns the page.
// The caller keeps quiet.
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

// reopen lets every watcher go on with another watch.
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

// bridged are the gaps in a kind that the facade has bridged in a world. Versions of one mean nothing in another.
func (s *soak) bridged(k *kind, world int) []testkit.LostWindow {
	gaps, _ := s.facade.LostWindows(k.GVR)
	all, of := gaps["json"], s.bridgedBefore[k]
	to := len(all)
	if world+1 < len(of) {
		to = of[world+1]
	}
	return all[of[world]:to]
}

// judge holds what clients were told and answered in a world against what happened there. The caller keeps quiet.
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
					gaps = nil // it was told by kube-apiserver, which knows what was inside
				}
				if err := testkit.CheckReplayed(r.Recording, model, gaps...); err != nil {
					t.Errorf("%s, over the gaps %v: %v", w, gaps, err)
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
	s.log("%d watches with %d events and %d reads were looked at, after %d refusals, %d times that a client was told to list again, "+
		"and %d writes whose answers were lost", watches, events, reads, s.refusals.Swap(0), s.relisted.Swap(0), doubts)
}
