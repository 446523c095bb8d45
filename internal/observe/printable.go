package observe

import (
	"strings"
	"unicode"
)

// Printable is a text of a client's as it may be shown on a terminal: no longer than so many bytes, and with a question
// mark for what is not printed or is no UTF-8.
func Printable(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, text)
}
