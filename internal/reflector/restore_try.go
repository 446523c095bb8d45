package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
)

// tries records the lanes for which this process does not read the journal again, for example because it refused the
// journal. A refused journal only gets older. Safe for concurrent use.
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

// isVerdict reports whether an error means that the journal must not be used. After other errors, for example if the
// upstream did not respond, the journal may be tried again.
func isVerdict(err error) bool {
	return errors.Is(err, errUnchecked) || errors.Is(err, journal.ErrDamaged) || errors.Is(err, journal.ErrAccess) ||
		endsEpoch(err)
}

// look makes the cheap checks of the journal before its content is read. The newest segment must be of this lane. The
// upstream must have reached the end of this segment, and must still have the events after that end.
func (r *restorer) look(ctx context.Context, e *epoch, last *journal.Segment) error {
	if err := r.agrees(ctx, e, last); err != nil {
		return err
	}
	if err := r.learner.verify(ctx, cache.RV(last.Last)); err != nil {
		return err
	}
	// This watch is only a check and is closed. The lane's own watch is opened after the content was read: an earlier
	// watch would have no reader.
	open, err := e.watch(ctx, watchQuery(cache.RV(last.Last)), lookSeconds)
	if err != nil {
		return fmt.Errorf("open a watch from the journal's resourceVersion: %w", err)
	}
	open.look()
	err = open.awaitFailure(watchGrace)
	open.close()
	<-open.ahead // waits for the end of the goroutine of look
	return err
}

// lookSeconds is the timeout of the watch of look, in case the upstream does not notice that it was closed.
const lookSeconds = 10
