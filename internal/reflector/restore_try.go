package reflector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/snapshot"
)

// tries are the lanes whose snapshots were read, or refused, in this process. What was refused once is refused again: a
// snapshot only gets older. Safe for concurrent use.
type tries struct {
	mu   sync.Mutex // guards done
	done map[laneKey]bool
}

func (t *tries) note(key laneKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[key] = true
}

func (t *tries) has(key laneKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done[key]
}

// isVerdict tells an error that says something of a snapshot, and not of an upstream that does not answer now.
func isVerdict(err error) bool {
	return errors.Is(err, errUnchecked) || errors.Is(err, snapshot.ErrBroken) || errors.Is(err, snapshot.ErrOpen) ||
		errors.Is(err, fs.ErrNotExist) || endsEpoch(err)
}

// look asks of a snapshot what is cheap to ask, before its content is read: whether it is of this lane, whether the
// upstream has been at its version, and whether it still has the events that follow. It returns why not.
func (w *writer) look(ctx context.Context, path string) error {
	h, err := snapshot.Look(path)
	if err != nil {
		return err
	}
	if err := w.agrees(ctx, h); err != nil {
		return err
	}
	if err := w.verify(ctx, cache.RV(h.RV)); err != nil {
		return err
	}
	// Another watch is opened when the content was read: this one would wait for its reader all the time.
	open, err := w.listWatch.Load().watch(ctx, watchQuery(cache.RV(h.RV)), lookSeconds)
	if err != nil {
		return fmt.Errorf("ask for what follows it: %w", err)
	}
	open.look()
	err = open.lasts(watchGrace)
	open.close()
	<-open.ahead // nobody reads it
	return err
}

// lookSeconds bounds the watch of look, should its end be lost.
const lookSeconds = 10
