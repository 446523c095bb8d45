package fresh

import (
	"context"
	"fmt"
	"time"
)

// defined checks that the definition of a custom resource is still the one with which the lane was filled.
type defined struct {
	definition Definition // nil for a built-in resource
	questions  *groupCommit[struct{}]
}

func newDefined(o Options, metrics Metrics) defined {
	d := defined{definition: o.Definition}
	d.questions = newGroupCommit(nil, o.Filler.Start, func(ctx context.Context, _ waiters) (struct{}, error) {
		metrics.Questioned("definition")
		return struct{}{}, d.definition.Confirm(ctx)
	})
	return d
}

// unreadable reports whether the definition cannot be read. Then no check of the lane can succeed.
func (d *defined) unreadable() bool { return d.definition != nil && !d.definition.Readable() }

// confirm returns nil if the upstream still had the lane's definition at some moment after the call began. It is called
// after a check, so the definition was valid for the objects of the check's State.
func (d *defined) confirm(ctx context.Context) error {
	if d.definition == nil {
		return nil
	}
	if _, err := d.questions.get(ctx, requestPrice); err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	return nil
}

func (d *defined) price() time.Duration {
	if d.definition == nil {
		return 0
	}
	return requestPrice + time.Duration(d.definition.Bytes())*definedPrice
}
