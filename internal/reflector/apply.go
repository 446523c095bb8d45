package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// stepsAhead is the maximum number of steps in the channel from the reader of the stream to the writer.
const stepsAhead = 256

// settled is how long a watch without events must be open before the upstream counts as reachable. A watch that ends
// sooner does not show that.
const settled = time.Second

// apply writes the steps of a stream, and of progress watches, into the lane until the stream ends. Another goroutine
// reads the stream, so that scanning and publishing overlap. That goroutine has ended when apply returns.
func (w *writer) apply(ctx context.Context, e *epoch, s *stream) error {
	ctx, cancel := context.WithCancel(ctx)
	steps, failed, cut := make(chan step, stepsAhead), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(cut)
		failed <- pump(ctx, s, steps)
	}()
	defer func() { s.close(); cancel(); <-cut }()
	quiet := time.NewTimer(settled)
	defer quiet.Stop()
	silence, look := newSilence(), time.NewTicker(silenceEvery)
	defer look.Stop()
	for {
		var err error
		select {
		case st := <-steps:
			silence.note(st.kind)
			err = w.write(e, st)
		case st := <-w.lane.progressWatched:
			err = w.write(e, st)
		case err := <-failed:
			return errors.Join(w.rest(e, steps), err)
		case err = <-w.lane.wrong:
		case <-quiet.C:
			w.lane.receives()
		case <-look.C:
			if silence.isTooLong() && len(steps) == 0 {
				w.lane.receivesNothing(silence.received)
				err = errSilent
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// rest writes the steps that were read before a stream ended, because they are still valid.
func (w *writer) rest(e *epoch, steps <-chan step) error {
	for {
		select {
		case st := <-steps:
			if err := w.write(e, st); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// pump reads a stream into steps until it ends.
func pump(ctx context.Context, s *stream, steps chan<- step) error {
	for {
		st, err := s.next()
		if err != nil {
			return err
		}
		st.frame = nil // the stream reuses the bytes
		select {
		case steps <- st:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// write applies one step. It drops a change that the lane already has, because a progress watch and the watch may both
// deliver it. It also drops steps of a progress watch of an earlier epoch.
func (w *writer) write(e *epoch, st step) error {
	switch {
	case st.by != e.listWatch:
		return nil
	case e.shape.Reprinted(st.columns):
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
func (w *writer) advance(st step) error {
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
