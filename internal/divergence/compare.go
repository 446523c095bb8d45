package divergence

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
)

// ErrOrder says that a side does not list its objects in the order of their keys, so that nothing can be said.
var ErrOrder = errors.New("objects are not in the order of their keys")

// Object is an object as one side has it. It is looked at before the next is read, and not afterwards.
type Object struct {
	Key, Version string
	// Append appends the object's bytes in a form. It is asked only where both sides have the same version.
	Append func(dst []byte, representation string) []byte
}

// Compared is what came out of a comparison, beside the differences.
type Compared struct {
	Objects   int    // of both sides that were looked at; those that both have count once
	Different int    // of them
	Last      string // key that their side has; empty when it has none
}

// Compare walks over both sides and calls each with what differs. forms are those in which bytes are compared; the
// first one that differs is told. ours may have more objects than theirs behind the last one of theirs: they are looked
// at where theirs is whole, and not where it is a page that others follow. whole is asked when theirs has ended.
func Compare(forms []string, ours, theirs iter.Seq[Object], whole func() bool, each func(Difference)) (Compared, error) {
	next, stop := iter.Pull(ours)
	defer stop()
	c := comparison{representations: forms, next: next, each: each}
	c.ours, c.more = next()
	for o := range theirs {
		if c.theirs(o); c.err != nil {
			return c.Compared, c.err
		}
	}
	for c.more && whole() && c.err == nil {
		c.surplus()
	}
	return c.Compared, c.err
}

type comparison struct {
	Compared
	representations []string
	next            func() (Object, bool)
	each            func(Difference)
	ours            Object // the next of ours, if there are more
	more            bool
	err             error
	one, two        []byte // buffers
	begun           bool
}

// theirs takes the next object of theirs, and all of ours up to it.
func (c *comparison) theirs(o Object) {
	if o.Key <= c.Last && c.begun {
		c.err = fmt.Errorf("%w: %q behind %q", ErrOrder, o.Key, c.Last)
		return
	}
	c.Last, c.begun = o.Key, true
	for c.more && c.ours.Key < o.Key && c.err == nil {
		c.surplus()
	}
	c.Objects++
	if !c.more || c.ours.Key != o.Key {
		c.tell(Difference{Kind: Missing, Key: o.Key, Theirs: o.Version})
		return
	}
	c.both(o)
	c.advance()
}

// surplus takes the next of ours, which theirs lacks.
func (c *comparison) surplus() {
	c.Objects++
	c.tell(Difference{Kind: Surplus, Key: c.ours.Key, Ours: c.ours.Version})
	c.advance()
}

func (c *comparison) advance() {
	last := c.ours.Key
	c.ours, c.more = c.next()
	if c.more && c.ours.Key <= last {
		c.err = fmt.Errorf("%w: %q behind %q", ErrOrder, c.ours.Key, last)
	}
}

// both compares an object that both sides have.
func (c *comparison) both(o Object) {
	d := Difference{Kind: Version, Key: o.Key, Ours: c.ours.Version, Theirs: o.Version}
	if d.Ours != d.Theirs {
		c.tell(d)
		return
	}
	for _, representation := range c.representations {
		c.one, c.two = c.ours.Append(c.one[:0], representation), o.Append(c.two[:0], representation)
		if bytes.Equal(c.one, c.two) {
			continue
		}
		d.Kind, d.Representation = Content, representation
		d.At, d.OurText, d.TheirText = differenceOf(c.one, c.two)
		c.tell(d)
		return
	}
}

func (c *comparison) tell(d Difference) {
	c.Different++
	c.each(d)
}
