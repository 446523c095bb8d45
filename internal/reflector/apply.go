package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listfacade/listfacade/cache"
)

// stepsAhead is how many steps may wait between the goroutine that cuts frames and the writer.
const stepsAhead = 256

// settled is how long a watch must be open for the upstream to count as heard when nothing happens; one that lies or
// ends at once says nothing.
const settled = time.Second

// apply writes a stream's steps, and those of fences, into the lane until the stream ends. A goroutine of its own cuts
// the stream, so that scanning the next object and publishing this one overlap; it has ended when apply returns.
func (w *writer) apply(ctx context.Context, s *stream) error {
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
			silence.breaks(st.kind)
			err = w.write(st)
		case st := <-w.progressWatched:
			err = w.write(st)
		case err := <-failed:
			return errors.Join(w.rest(steps), err)
		case err = <-w.wrong:
		case <-quiet.C:
			w.reflector.receives()
		case <-look.C:
			if silence.isDeath() && len(steps) == 0 {
				w.reflector.receivesNothing(silence.received)
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

// rest writes what was read before a stream ended; it still counts.
func (w *writer) rest(steps <-chan step) error {
	for {
		select {
		case st := <-steps:
			if err := w.write(st); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// pump cuts a stream into steps until it ends.
func pump(ctx context.Context, s *stream, steps chan<- step) error {
	for {
		st, err := s.next()
		if err != nil {
			return err
		}
		st.frame = nil // its bytes are the stream's own
		select {
		case steps <- st:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// write applies one step. A change that the lane has already, because a fence and the watch both brought it, is
// dropped, and so is everything from a fence of the last epoch.
func (w *writer) write(st step) error {
	switch {
	case st.by != w.listWatch.Load():
		return nil
	case w.shape.Reprinted(st.columns):
		return errReprinted
	}
	if err := w.advance(st); errors.Is(err, cache.ErrOutOfOrder) {
		return nil
	} else if err != nil {
		return fmt.Errorf("apply an event: %w", err)
	}
	if st.kind == stepChange {
		w.reflector.checker.Changed(st.rv)
		w.reflector.receivesChange()
		return nil
	}
	w.reflector.receives()
	return nil
}

// advance makes a step of the lane; ErrOutOfOrder is one that the lane has made before.
func (w *writer) advance(st step) error {
	if st.kind == stepChange {
		return w.reflector.Cache.Apply(st.change)
	}
	w.reflector.marked.Store(true)
	at, err := w.reflector.Cache.Position()
	if err != nil {
		return err
	}
	if at >= st.rv {
		return cache.ErrOutOfOrder
	}
	w.reflector.Cache.Progress(st.rv)
	return nil
}

// contradict tells the writer why what the lane shows is not, or no longer, what the upstream has.
func (w *writer) contradict(why error) {
	select {
	case w.wrong <- why:
	default: // it knows already that it has to list again
	}
}
