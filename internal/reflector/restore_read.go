package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/snapshot"
	"github.com/listfacade/listfacade/internal/wire"
)

// recorded is what a snapshot holds. Nothing of it is the lane's before it is proven and adopted, and nothing stays of
// it when its filling is dropped instead.
type recorded struct {
	by       *listWatch
	filling  *cache.Filling
	shape    wire.Shape // with the columns
	columns  []byte
	bookmark wire.Bookmark
	marked   bool                     // the upstream was seen to send one
	objects  map[string]*cache.Object // of the base, until its end
	past     *cache.Restoration       // from there on
	rv       cache.RV
	events   int
	versions map[string]string // of the objects in the end, by key
}

func newRecorded(by *listWatch, shape wire.Shape, lane *cache.Lane) *recorded {
	return &recorded{
		by: by, shape: shape, filling: lane.Fill(), objects: map[string]*cache.Object{}, versions: map[string]string{},
	}
}

// read reads a snapshot, as it would be read from the upstream. room tells whether so many bytes of it are too many.
func (c *recorded) read(ctx context.Context, from *snapshot.Snapshot, room func(bytes int64) error) error {
	s := &stream{listWatch: c.by, body: io.NopCloser(from), frames: c.by.framing.Reader(from, wire.FrameLimit), cancel: func() {}}
	c.marked = from.Marked
	looked := int64(0)
	for ctx.Err() == nil {
		st, err := s.next()
		switch {
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			if c.past == nil || uint64(c.rv) != from.RV || c.events != from.Events {
				return fmt.Errorf("%w: it holds something else than it says", snapshot.ErrBroken)
			}
			return nil
		case err != nil:
			return err
		}
		if err := c.take(&st, from); err != nil {
			return err
		}
		s.ordered = c.past != nil
		if bytes := c.filling.Memory(); bytes-looked >= lookEvery {
			looked = bytes
			if err := room(bytes); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// take takes a frame.
func (c *recorded) take(st *step, from *snapshot.Snapshot) error {
	if len(st.columns) > 0 {
		shape, err := c.shape.WithColumns(st.columns)
		if err != nil {
			return err
		}
		c.shape, c.columns = shape, bytes.Clone(st.columns)
	}
	switch {
	case st.kind == stepInitialEnd && c.past == nil:
		return c.endBase(st, from)
	case st.kind != stepChange && c.past == nil:
		return fmt.Errorf("%w: a bookmark before the end of its content", snapshot.ErrBroken)
	case st.kind != stepChange:
		c.rv = st.rv
		return nil
	}
	if c.past == nil {
		c.filling.Add(st.change.Object)
		return c.takeObject(st.change, from)
	}
	return c.takeEvent(st.change, from)
}

// takeObject takes an object of the base.
func (c *recorded) takeObject(change cache.Change, from *snapshot.Snapshot) error {
	o := change.Object
	switch {
	case c.objects[o.Key()] != nil || change.Kind == cache.Delete:
		return fmt.Errorf("%w: %s is there twice", snapshot.ErrBroken, o.Key())
	case len(c.objects) == from.Objects:
		return fmt.Errorf("%w: it holds more objects than it says", snapshot.ErrBroken)
	}
	c.objects[o.Key()], c.versions[o.Key()] = o, o.RV.String()
	return nil
}

// endBase begins with the events.
func (c *recorded) endBase(st *step, from *snapshot.Snapshot) (err error) {
	if len(c.objects) != from.Objects || uint64(st.rv) != from.Base {
		return fmt.Errorf("%w: it holds something else than it says", snapshot.ErrBroken)
	}
	for key, o := range c.objects {
		if o.RV > st.rv {
			return fmt.Errorf("%w: %s is at resourceVersion %d in a list of %d", snapshot.ErrBroken, key, o.RV, st.rv)
		}
	}
	if c.bookmark, err = c.by.reader.Bookmark(st.frame); err != nil {
		return err
	}
	c.rv = st.rv
	c.past = c.filling.Restore(st.rv, c.shape, slices.Collect(maps.Values(c.objects)))
	c.objects = nil
	return nil
}

// takeEvent takes an event behind the base.
func (c *recorded) takeEvent(change cache.Change, from *snapshot.Snapshot) error {
	o := change.Object
	switch {
	case o.RV <= c.rv:
		return fmt.Errorf("%w: an event at %d behind %d", snapshot.ErrBroken, o.RV, c.rv)
	case c.events == from.Events:
		return fmt.Errorf("%w: it holds more events than it says", snapshot.ErrBroken)
	}
	if change.Kind == cache.Delete {
		delete(c.versions, o.Key())
	} else {
		c.versions[o.Key()] = o.RV.String()
	}
	c.events++
	c.rv = o.RV
	return c.past.Apply(change)
}
