package fresh

import (
	"context"
	"fmt"
	"time"
)

// defined asks whether a custom resource is still defined as its lane has it, on behalf of all readers who wait for
// that.
type defined struct {
	definition Definition // nil for a built-in resource
	questions  *groupCommit[struct{}]
}

func newDefined(o Options, metrics Metrics) defined {
	d := defined{definition: o.Definition}
	d.questions = newGroupCommit(nil, o.Filler.Start, func(ctx context.Context, _ party) (struct{}, error) {
		metrics.Questioned("definition")
		return struct{}{}, d.definition.Confirm(ctx)
	})
	return d
}

// unreadable reports whether the definition cannot be asked for: then nothing can be proven of the lane.
func (d *defined) unreadable() bool { return d.definition != nil && !d.definition.Readable() }

// confirm fails unless the resource is defined, at some moment after the call began, as its lane has it. It is the
// last step of a proof: objects of a State that was proven before are in the form of that moment.
func (d *defined) confirm(ctx context.Context) error {
	if d.definition == nil {
		return nil
	}
	if _, err := d.questions.get(ctx, requestPrice); err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	return nil
}

// price is what the question takes the upstream.
func (d *defined) price() time.Duration {
	if d.definition == nil {
		return 0
	}
	return requestPrice + time.Duration(d.definition.Bytes())*definedPrice
}
