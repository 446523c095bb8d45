package reflector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
)

// list contains all objects of a lane's resource at one resourceVersion.
type list struct {
	rv      cache.RV
	objects map[string]*cache.Object
	asked   time.Time // the list includes every write before this moment; zero if that is unknown
	open    *stream   // watch that continues from the list; nil if none is open yet
}

// newList returns a list. An object of a later version than the list is an error, because a State is complete at its
// resourceVersion (I10 in cache/doc.go).
func newList(version string, objects map[string]*cache.Object, asked time.Time) (*list, error) {
	rv, err := cache.ParseRV(version)
	if err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
	}
	for key, o := range objects {
		if o.RV > rv {
			return nil, fmt.Errorf("%s has resourceVersion %d, which is higher than the list's %d", key, o.RV, rv)
		}
	}
	return &list{rv: rv, objects: objects, asked: asked}, nil
}

// publisher shows the lane's objects to readers when all objects have arrived.
type publisher struct {
	lane    *lane
	checker *fresh.Checker
	check   *upstreamCheck
	past
}

// publish shows a list as the lane's State. It begins a new epoch, or continues the last one by a replay. It closes the
// list's watch if the context ends. This list also settles a contradiction that a freshness check found in the last
// list.
func (p *publisher) publish(ctx context.Context, e *epoch, l *list) error {
	if reason := contradiction(p.checker); reason != nil && !p.setBack {
		p.distrust(reason)
	}
	if all := slices.Collect(maps.Values(l.objects)); !p.replay(ctx, e, l.rv, all) {
		if ctx.Err() != nil {
			if l.open != nil {
				l.open.close()
			}
			return ctx.Err() // the lane ends, so its watches need no new epoch
		}
		p.lane.Cache.Replace(l.rv, e.shape, all)
	}
	p.shows(e)
	if !l.asked.IsZero() {
		p.checker.Synced(l.asked)
	}
	return nil
}

// adopt shows the checked content of the journal as the lane's State. It fails if the lane has been closed.
func (p *publisher) adopt(e *epoch, c *restored) error {
	e.shape, e.columns = c.shape, c.columns
	p.lane.bookmark.Store(&c.bookmark)
	p.lane.marked.Store(c.marked)
	if err := c.past.Show(c.rv); err != nil {
		return err
	}
	if tail, _, err := p.lane.Cache.Tail(); err == nil { // position before the first event from the upstream
		p.lane.resumed.Store(&resumption{tail: tail, after: c.end, at: time.Now()})
	}
	p.shows(e)
	return nil
}

// shows records that the lane shows the list or the journal of an epoch.
func (p *publisher) shows(e *epoch) {
	p.distrusted, p.setBack, p.pasts, p.accept = false, false, p.known, e.ask.Accept
	p.checker.Replaced()
}
