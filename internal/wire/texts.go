package wire

import "strings"

// Texts makes the strings of one object's facts, most of which are short, in few allocations. They are for whoever
// reads the facts, and not to be kept: each keeps the others. The zero Texts is empty.
type Texts struct{ made strings.Builder }

// Expect makes room for so many bytes.
func (t *Texts) Expect(bytes int) { t.made.Grow(bytes) }

// Of returns a text as a string.
func (t *Texts) Of(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	start := t.made.Len()
	t.made.Write(text)
	return t.made.String()[start:]
}
