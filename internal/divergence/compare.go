package divergence

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
)

// ErrOrder is returned when the objects of a side are not in the order of their keys. The comparison then has no
// result.
var ErrOrder = errors.New("objects are not sorted by key")

// Object is an object of one side. It is used only until the next object of that side is read.
type Object struct {
	Key, Version string
	// Append appends the object's bytes in a representation. It is called only if Version is the same on both sides.
	Append func(dst []byte, representation string) []byte
}

// Compared is the result of a comparison, apart from the differences.
type Compared struct {
	Objects   int    // number of distinct objects that were compared
	Different int    // number of objects that differ
	Last      string // last key of the upstream side; empty if there is none
}

// Compare compares the objects of both sides and calls each(d) for every difference d. It compares the bytes of an
// object in each of the representations, and reports only the first difference of the object. After the last object of
// upstream, it calls whole, which reports whether upstream has yielded all objects of its side. If so, the remaining
// objects of local are surplus; otherwise Compare ignores them.
func Compare(representations []string, local, upstream iter.Seq[Object], whole func() bool,
	each func(Difference)) (Compared, error) {
	next, stop := iter.Pull(local)
	defer stop()
	c := comparison{representations: representations, next: next, each: each}
	c.local, c.more = next()
	for o := range upstream {
		if c.compareUpstream(o); c.err != nil {
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
	local           Object // next object of the local side, if more is true
	more            bool
	err             error
	one, two        []byte // buffers for the bytes of an object on both sides
	begun           bool
}

// compareUpstream reports the next objects of the local side with lower keys as surplus, and then compares o.
func (c *comparison) compareUpstream(o Object) {
	if o.Key <= c.Last && c.begun {
		c.err = fmt.Errorf("%w: %q after %q", ErrOrder, o.Key, c.Last)
		return
	}
	c.Last, c.begun = o.Key, true
	for c.more && c.local.Key < o.Key && c.err == nil {
		c.surplus()
	}
	c.Objects++
	if !c.more || c.local.Key != o.Key {
		c.report(Difference{Kind: Missing, Key: o.Key, Upstream: o.Version})
		return
	}
	c.both(o)
	c.advance()
}

// surplus reports the next object of the local side, which the upstream side lacks.
func (c *comparison) surplus() {
	c.Objects++
	c.report(Difference{Kind: Surplus, Key: c.local.Key, Local: c.local.Version})
	c.advance()
}

func (c *comparison) advance() {
	last := c.local.Key
	c.local, c.more = c.next()
	if c.more && c.local.Key <= last {
		c.err = fmt.Errorf("%w: %q after %q", ErrOrder, c.local.Key, last)
	}
}

func (c *comparison) both(o Object) {
	d := Difference{Kind: Version, Key: o.Key, Local: c.local.Version, Upstream: o.Version}
	if d.Local != d.Upstream {
		c.report(d)
		return
	}
	for _, representation := range c.representations {
		c.one, c.two = c.local.Append(c.one[:0], representation), o.Append(c.two[:0], representation)
		if bytes.Equal(c.one, c.two) {
			continue
		}
		d.Kind, d.Representation = Content, representation
		d.At, d.LocalText, d.UpstreamText = differenceOf(c.one, c.two)
		c.report(d)
		return
	}
}

func (c *comparison) report(d Difference) {
	c.Different++
	c.each(d)
}
