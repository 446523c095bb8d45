package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/listfacade/listfacade/internal/upstream"
)

// refusalLasts is the time after which a filled lane ends if the upstream has only refused. Shorter refusals are normal
// while a kube-apiserver starts, or until a renewed token file is read.
const refusalLasts = 30 * time.Second

// refusal records since when the upstream has sent only 401 or 403 to the facade for a lane.
type refusal struct {
	lane  *lane
	since time.Time // zero while the upstream does not refuse
}

func (r *refusal) ends() { r.since = time.Time{} }

// judge returns err, wrapped in errEnded if err ends the lane. When a refusal begins, judge resets the pauses, because
// a starting upstream accepts requests soon.
func (r *refusal) judge(ctx context.Context, err error, pause *backoff) error {
	switch {
	case errors.Is(err, errEnded):
		return err
	case !isForbidden(err):
		r.ends()
	case r.since.IsZero():
		r.since = time.Now()
		pause.reset()
	}
	if isUnreadable(err) || errors.Is(err, errRedefined) || errors.Is(err, ErrNoMemory) || errors.Is(err, ErrTooLarge) ||
		isForbidden(err) && r.denied(ctx, err) {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return err
}

// denied reports whether a 401 or 403 ends the lane. It returns true if the lane has no State, because its readers
// would have to wait. It also returns true if the refusal has lasted refusalLasts, or if an access review confirms a
// 403. After a 401, an access review is not possible.
func (r *refusal) denied(ctx context.Context, err error) bool {
	if _, unsynced := r.lane.Cache.State(); unsynced != nil || time.Since(r.since) >= refusalLasts {
		return true
	}
	if !upstream.HasCode(err, http.StatusForbidden) {
		return false
	}
	denied, err := r.lane.client.Denies(ctx, r.lane.Resource)
	return err == nil && denied
}
