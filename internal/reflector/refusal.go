package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/listfacade/listfacade/internal/upstream"
)

// refusalLasts is how long the upstream must have refused a lane that it filled before, and said nothing else, for the
// lane to end: a kube-apiserver that starts refuses everybody until it has read its rules, and a token is read from its
// file again within a minute.
const refusalLasts = 30 * time.Second

// refusal is how long the upstream has answered 401 or 403 to the facade, and nothing else.
type refusal struct {
	since time.Time // zero while it does not refuse
}

// begins notes how the upstream answered, and tells whether a refusal begins with it.
func (r *refusal) begins(err error) bool {
	if !isForbidden(err) {
		r.since = time.Time{}
		return false
	}
	if !r.since.IsZero() {
		return false
	}
	r.since = time.Now()
	return true
}

func (r *refusal) lasts() bool { return !r.since.IsZero() && time.Since(r.since) >= refusalLasts }

// judge makes an errOver of an error that ends the lane. Where a refusal begins, pauses do too: an upstream that starts
// lets everybody in soon.
func (w *writer) judge(ctx context.Context, err error, pause *backoff) error {
	if errors.Is(err, errOver) {
		return err
	}
	if w.refusal.begins(err) {
		pause.reset()
	}
	if isUnreadable(err) || errors.Is(err, errRedefined) || errors.Is(err, ErrNoMemory) || errors.Is(err, ErrTooLarge) || isForbidden(err) && w.denied(ctx, err) {
		return fmt.Errorf("%w: %w", errOver, err)
	}
	return err
}

// denied tells whether a 401 or 403 is the last word: to a lane that has nothing to show, so that its readers need not
// wait; when it has lasted; when the upstream's authorizer, asked for it, says no. Who is not authenticated cannot ask.
func (w *writer) denied(ctx context.Context, err error) bool {
	if _, unsynced := w.reflector.Cache.State(); unsynced != nil || w.refusal.lasts() {
		return true
	}
	if !upstream.HasCode(err, http.StatusForbidden) {
		return false
	}
	denied, err := w.client.Denies(ctx, w.reflector.Resource)
	return err == nil && denied
}
