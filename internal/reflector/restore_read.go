package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/snapshot"
	"github.com/listfacade/listfacade/internal/wire"
)

// recorded is the content of a snapshot. Only adopt makes it the content of the lane. Dropping its filling releases it.
type recorded struct {
	by       *listWatch
	filling  *cache.Filling
	shape    wire.Shape // including the columns
	columns  []byte
	bookmark wire.Bookmark
	marked   bool                     // whether the upstream had sent a bookmark
	objects  map[string]*cache.Object // objects of the base; nil after the end of the base
	past     *cache.Restoration       // history after the base; nil before the end of the base
	rv       cache.RV
	events   int
	versions map[string]string // versions of the final objects, by key
}

func newRecorded(by *listWatch, shape wire.Shape, lane *cache.Lane) *recorded {
	return &recorded{
		by: by, shape: shape, filling: lane.Fill(), objects: map[string]*cache.Object{}, versions: map[string]string{},
	}
}

// read reads a snapshot by the same code as a stream of the upstream. admit returns an error if the given number of
// bytes does not fit into memory.
func (c *recorded) read(ctx context.Context, from *snapshot.Snapshot, admit func(bytes int64) error) error {
	s := &stream{listWatch: c.by, body: io.NopCloser(from), frames: c.by.framing.Reader(from, wire.FrameLimit),
		cancel: func() {}}
	c.marked = from.Marked
	looked := int64(0)
	for ctx.Err() == nil {
		st, err := s.next()
		switch {
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			if c.past == nil || uint64(c.rv) != from.RV || c.events != from.Events {
				return fmt.Errorf("%w: content does not match the header", snapshot.ErrBroken)
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
			if err := admit(bytes); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// take reads one frame.
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
		return fmt.Errorf("%w: bookmark before the end of the objects", snapshot.ErrBroken)
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

// takeObject adds an object of the base.
func (c *recorded) takeObject(change cache.Change, from *snapshot.Snapshot) error {
	o := change.Object
	switch {
	case c.objects[o.Key()] != nil || change.Kind == cache.Delete:
		return fmt.Errorf("%w: %s appears twice", snapshot.ErrBroken, o.Key())
	case len(c.objects) == from.Objects:
		return fmt.Errorf("%w: more objects than the header says", snapshot.ErrBroken)
	}
	c.objects[o.Key()], c.versions[o.Key()] = o, o.RV.String()
	return nil
}

// endBase ends the base and begins the history.
func (c *recorded) endBase(st *step, from *snapshot.Snapshot) (err error) {
	if len(c.objects) != from.Objects || uint64(st.rv) != from.Base {
		return fmt.Errorf("%w: content does not match the header", snapshot.ErrBroken)
	}
	for key, o := range c.objects {
		if o.RV > st.rv {
			return fmt.Errorf("%w: %s has resourceVersion %d in a list of %d", snapshot.ErrBroken, key, o.RV, st.rv)
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

// takeEvent adds an event of the history.
func (c *recorded) takeEvent(change cache.Change, from *snapshot.Snapshot) error {
	o := change.Object
	switch {
	case o.RV <= c.rv:
		return fmt.Errorf("%w: event at %d follows %d", snapshot.ErrBroken, o.RV, c.rv)
	case c.events == from.Events:
		return fmt.Errorf("%w: more events than the header says", snapshot.ErrBroken)
	}
	if change.Kind == cache.Delete {
		delete(c.versions, o.Key())
	} else {
		c.versions[o.Key()] = o.RV.String()
	}
	c.events++
	c.rv = o.RV
	return c.past.Apply(change, time.Now())
}
