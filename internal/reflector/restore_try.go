package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
)

// tries records the lanes that were restored, or whose journal was refused, in this process. A refused journal would be
// refused again, because it only gets older. Safe for concurrent use.
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

// isVerdict reports whether an error means that the journal must not be used, and not only that the upstream did not
// respond.
func isVerdict(err error) bool {
	return errors.Is(err, errUnchecked) || errors.Is(err, journal.ErrDamaged) || errors.Is(err, journal.ErrAccess) ||
		endsEpoch(err)
}

// look makes the cheap checks of the journal before its content is read. It checks that the newest segment is of this
// lane, and that the upstream has reached its version and still has the following events.
func (r *restorer) look(ctx context.Context, e *epoch, last *journal.Segment) error {
	if err := r.agrees(ctx, e, last); err != nil {
		return err
	}
	if err := r.learner.verify(ctx, cache.RV(last.Last)); err != nil {
		return err
	}
	// This watch is only a check and is closed. The lane's own watch is opened after the content was read, because until
	// then it would have no reader.
	open, err := e.watch(ctx, watchQuery(cache.RV(last.Last)), lookSeconds)
	if err != nil {
		return fmt.Errorf("open a watch from the journal's version: %w", err)
	}
	open.look()
	err = open.awaitFailure(watchGrace)
	open.close()
	<-open.ahead // the goroutine has ended
	return err
}

// lookSeconds limits the watch of look, in case its end gets lost.
const lookSeconds = 10
