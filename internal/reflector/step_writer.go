package reflector

import (
	"errors"
	"fmt"
	"sync"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
)

// stepWriter writes the steps of one stream, and of progress watches, into the lane. Safe for concurrent use. Nothing
// else writes steps or lists into the lane at the same time.
type stepWriter struct {
	lane    *lane
	checker *fresh.Checker
	epoch   *epoch

	mu     sync.Mutex // serializes writes of the lane, and guards the field below
	stream *silence   // of the stream
}

func newStepWriter(w *watcher, e *epoch) *stepWriter {
	return &stepWriter{lane: w.lane, checker: w.checker, epoch: e, stream: newSilence()}
}

// writeAll writes all steps of the stream. It returns the error of the stream or of the first step that fails.
func (w *stepWriter) writeAll(s *stream) error {
	for {
		st, err := s.next()
		if err != nil {
			return err
		}
		if err := w.receive(st); err != nil {
			return err
		}
	}
}

// receive writes a step of the stream.
func (w *stepWriter) receive(st step) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream.note(st.kind)
	return w.apply(st)
}

// write writes a step of a progress watch.
func (w *stepWriter) write(st step) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.apply(st)
}

// checkSilence returns errSilent if the stream has brought nothing for too long. The lane is then stale since the last
// frame.
func (w *stepWriter) checkSilence() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stream.isTooLong() {
		return nil
	}
	w.lane.receivesNothing(w.stream.received)
	return errSilent
}

// apply applies one step. It drops a change that the lane already has, because a progress watch and the lane's watch
// may both deliver it. It also drops steps of a progress watch of an earlier epoch. The caller holds mu.
func (w *stepWriter) apply(st step) error {
	switch {
	case st.by != w.epoch.listWatch:
		return nil
	case w.epoch.shape.Reprinted(st.columns):
		return errReprinted
	}
	if err := w.advance(st); errors.Is(err, cache.ErrOutOfOrder) {
		return nil
	} else if err != nil {
		return fmt.Errorf("apply event: %w", err)
	}
	if st.kind == stepChange {
		w.checker.Changed(st.rv)
		w.lane.receivesChange()
		return nil
	}
	w.lane.receives()
	return nil
}

// advance applies a step to the lane. It returns ErrOutOfOrder if the lane already has the step.
func (w *stepWriter) advance(st step) error {
	if st.kind == stepChange {
		return w.lane.Cache.Apply(st.change)
	}
	w.lane.marked.Store(true)
	at, err := w.lane.Cache.Position()
	if err != nil {
		return err
	}
	if at >= st.rv {
		return cache.ErrOutOfOrder
	}
	w.lane.Cache.Progress(st.rv)
	return nil
}
