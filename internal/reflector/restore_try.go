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

// tries records the lanes whose snapshots were used or refused in this process. A refused snapshot would be refused
// again, because it only gets older. Safe for concurrent use.
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

// isVerdict reports whether an error means that the snapshot must not be used, and not only that the upstream did not
// respond.
func isVerdict(err error) bool {
	return errors.Is(err, errUnchecked) || errors.Is(err, snapshot.ErrBroken) || errors.Is(err, snapshot.ErrOpen) ||
		errors.Is(err, fs.ErrNotExist) || endsEpoch(err)
}

// look makes the cheap checks of a snapshot before its content is read. It checks that the snapshot is of this lane,
// and that the upstream has reached its version and still has the following events.
func (r *restorer) look(ctx context.Context, e *epoch, path string) error {
	h, err := snapshot.Look(path)
	if err != nil {
		return err
	}
	if err := r.agrees(ctx, e, h); err != nil {
		return err
	}
	if err := r.learner.verify(ctx, cache.RV(h.RV)); err != nil {
		return err
	}
	// This watch is only a check and is closed. The lane's own watch is opened after the content was read, because it
	// would have no reader before.
	open, err := e.watch(ctx, watchQuery(cache.RV(h.RV)), lookSeconds)
	if err != nil {
		return fmt.Errorf("open a watch from the snapshot's version: %w", err)
	}
	open.look()
	err = open.awaitFailure(watchGrace)
	open.close()
	<-open.ahead // the goroutine has ended
	return err
}

// lookSeconds limits the watch of look, in case its end gets lost.
const lookSeconds = 10
