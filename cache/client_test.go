package cache

import (
	"fmt"

	"github.com/listfacade/listfacade/selectors"
)

func newClient(p *selectors.Predicate, rv RV, there map[string]*Object) *client {
	c := &client{predicate: p, rv: rv, store: map[string]*Object{}}
	for key, o := range there {
		if p.Matches(&o.Attributes) {
			c.store[key] = o
		}
	}
	return c
}

func (c *client) take(e Event) error {
	key := e.Object.Key()
	was := c.store[key]
	switch {
	case e.RV < c.rv || e.RV == c.rv && e.Type != Deleted || e.Object.RV != e.RV:
		return fmt.Errorf("got %s after RV %d, want a higher RV", describe(e), c.rv)
	case (was != nil) != (e.Type != Added):
		return fmt.Errorf("got %s while the client has the object: %t", describe(e), was != nil)
	case e.Type != Deleted && !c.predicate.Matches(&e.Object.Attributes):
		return fmt.Errorf("got %s, want only selected objects", describe(e))
	case e.Type == Modified && shape.UID(was.Item()) != shape.UID(e.Object.Item()):
		return fmt.Errorf("got %s with another UID", describe(e))
	case e.Type == Deleted && !e.Object.Item().SameObject(was.at(e.RV, shape).Item()):
		return fmt.Errorf("got %s, want the client's last content", describe(e))
	}
	c.rv = e.RV
	delete(c.store, key)
	if e.Type != Deleted {
		c.store[key] = e.Object
	}
	return nil
}

// resume continues the client's watch at a server that missed no event. The events may concern objects that the client
// no longer has.
func (c *client) resume(events []entry) {
	for i := range events {
		e := &events[i]
		switch t, concerned := e.meaning(c.predicate); {
		case e.rv <= c.rv || !concerned:
		case t == Deleted:
			delete(c.store, e.object().Key())
		default:
			c.store[e.now.Key()] = e.now
		}
	}
}

// holds checks that the client's objects equal the expected ones to the byte.
func (c *client) holds(there map[string]*Object) error {
	want := newClient(c.predicate, 0, there).store
	for key, o := range want {
		if got := c.store[key]; got == nil || !got.Item().Equal(o.Item()) {
			return fmt.Errorf("%s@%d: got %v", key, o.RV, got)
		}
	}
	if len(want) != len(c.store) {
		return fmt.Errorf("got %d objects, want %d", len(c.store), len(want))
	}
	return nil
}
