package divergence

import (
	"fmt"
	"strconv"
)

// Kind says how an object differs.
type Kind string

// The kinds. An object with different versions counts only as Version, although its bytes differ, too.
const (
	Missing Kind = "missing" // only the upstream side has the object
	Surplus Kind = "surplus" // only the local side has the object
	Version Kind = "version" // the resourceVersions differ
	Content Kind = "content" // the bytes differ in one of the representations
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Missing, Surplus, Version, Content} }

// Difference is one object that differs between both sides.
type Difference struct {
	Kind Kind
	Key  string
	// Local and Upstream are the resourceVersions on both sides; empty if a side lacks the object.
	Local, Upstream string
	// The other fields are set for Content only. Representation is the representation that differs, and At is the offset
	// of the first different byte. LocalText and UpstreamText are the quoted texts around that byte.
	Representation          string
	At                      int
	LocalText, UpstreamText string
}

// Numbers of bytes that are shown before and after the first different byte.
const (
	before = 24
	behind = 40
)

// differenceOf returns the offset of the first difference between two texts, and the quoted texts around it.
func differenceOf(local, upstream []byte) (at int, localText, upstreamText string) {
	for at < len(local) && at < len(upstream) && local[at] == upstream[at] {
		at++
	}
	return at, around(local, at), around(upstream, at)
}

// around quotes the text around an offset, in ASCII.
func around(text []byte, at int) string {
	return strconv.QuoteToASCII(string(text[min(max(at-before, 0), len(text)):min(at+behind, len(text))]))
}

// String returns a printable description of the difference in one line.
func (d Difference) String() string {
	key := strconv.QuoteToASCII(d.Key)
	switch d.Kind {
	case Missing:
		return fmt.Sprintf("%s is missing; upstream has it at resourceVersion %q", key, d.Upstream)
	case Surplus:
		return fmt.Sprintf("%s is at resourceVersion %q; upstream does not have it", key, d.Local)
	case Version:
		return fmt.Sprintf("%s is at resourceVersion %q; upstream has it at %q", key, d.Local, d.Upstream)
	default:
		return fmt.Sprintf("%s at resourceVersion %q: its %s differs at byte %d: %s; upstream has %s", key, d.Local,
			d.Representation, d.At, d.LocalText, d.UpstreamText)
	}
}

// Hide removes the texts, for objects with secret content.
func (d *Difference) Hide() { d.LocalText, d.UpstreamText = "(hidden)", "(hidden)" }
