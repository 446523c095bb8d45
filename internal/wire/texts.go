package wire

import "strings"

// Texts makes the strings of one object's facts in few allocations, because most of them are short. A caller must not
// retain one string alone, because each string keeps all others in memory. The zero Texts is empty.
type Texts struct{ made strings.Builder }

// Expect allocates memory for the given number of bytes.
func (t *Texts) Expect(bytes int) { t.made.Grow(bytes) }

// Of returns text as a string.
func (t *Texts) Of(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	start := t.made.Len()
	t.made.Write(text)
	return t.made.String()[start:]
}
