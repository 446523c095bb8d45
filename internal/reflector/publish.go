package reflector

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
)

// publisher shows the lane's objects to readers after all of them were read. Only the writer's goroutine uses it.
type publisher struct {
	lane    *lane
	checker *fresh.Checker
	check   *upstreamCheck
	past
}

// publish shows a list as the lane's State. It begins a new epoch, or continues the last one by a replay. A State is
// complete at its resourceVersion (I10), so a list with an object of a later version is an error.
func (p *publisher) publish(ctx context.Context, e *epoch, rv cache.RV, objects map[string]*cache.Object) error {
	for key, o := range objects {
		if o.RV > rv {
			return fmt.Errorf("%s has resourceVersion %d in a list of %d", key, o.RV, rv)
		}
	}
	if list := slices.Collect(maps.Values(objects)); !p.replay(ctx, e, rv, list) {
		if ctx.Err() != nil {
			return ctx.Err() // the lane ends, so its watches need no new epoch
		}
		p.lane.Cache.Replace(rv, e.shape, list)
	}
	p.distrusted = false
	p.checker.Replaced()
	return nil
}

// adopt shows the checked content as the lane's State. It fails if the lane has been closed.
func (p *publisher) adopt(e *epoch, c *recorded) error {
	e.shape, e.columns = c.shape, c.columns
	p.lane.bookmark.Store(&c.bookmark)
	p.lane.marked.Store(c.marked)
	if err := c.past.Show(c.rv); err != nil {
		return err
	}
	p.distrusted = false
	p.checker.Replaced()
	return nil
}
