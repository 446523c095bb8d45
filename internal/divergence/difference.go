package divergence

import (
	"fmt"
	"strconv"
)

// Kind is what of an object differs.
type Kind string

// The kinds. A side that has an object under another version has other bytes, too: that counts once.
const (
	Missing Kind = "missing" // only the other side has the object
	Surplus Kind = "surplus" // only our side has it
	Version Kind = "version" // its resourceVersions are not the same
	Content Kind = "content" // its bytes are not the same in one of the forms
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Missing, Surplus, Version, Content} }

// Difference is one object that is not the same on both sides.
type Difference struct {
	Kind Kind
	Key  string
	// Ours and Theirs are the resourceVersions of both sides; empty where the object is not there.
	Ours, Theirs string
	// Representation is which of the forms differs, At the first byte of it that does, from 0, and OurText and TheirText
	// what stands around it, quoted; of Content only.
	Representation     string
	At                 int
	OurText, TheirText string
}

// How many bytes are shown before and behind the first one that differs.
const (
	before = 24
	behind = 40
)

// differenceOf tells where two texts differ, which they do.
func differenceOf(ours, theirs []byte) (at int, ourText, theirText string) {
	for at < len(ours) && at < len(theirs) && ours[at] == theirs[at] {
		at++
	}
	return at, around(ours, at), around(theirs, at)
}

// around quotes what stands around a place of a text, in ASCII.
func around(text []byte, at int) string {
	return strconv.QuoteToASCII(string(text[min(max(at-before, 0), len(text)):min(at+behind, len(text))]))
}

// String is the difference in one line, which is printable.
func (d Difference) String() string {
	key := strconv.QuoteToASCII(d.Key)
	switch d.Kind {
	case Missing:
		return fmt.Sprintf("%s is missing; there it is at resourceVersion %q", key, d.Theirs)
	case Surplus:
		return fmt.Sprintf("%s is at resourceVersion %q, and not there", key, d.Ours)
	case Version:
		return fmt.Sprintf("%s is at resourceVersion %q, there at %q", key, d.Ours, d.Theirs)
	default:
		return fmt.Sprintf("%s at resourceVersion %q: its %s differs from byte %d on: %s, there %s", key, d.Ours, d.Representation, d.At, d.OurText, d.TheirText)
	}
}

// Hide takes the texts out, of objects that are secret.
func (d *Difference) Hide() { d.OurText, d.TheirText = "(hidden)", "(hidden)" }
