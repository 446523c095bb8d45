package observe

import (
	"strings"
	"unicode"
)

// Printable makes a client's text safe for a terminal. It truncates the text to as many bytes as the argument most, and
// replaces characters that are not printable or not UTF-8 by question marks.
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

// PrintableLines makes a text of several lines safe for a terminal.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = Printable(cell, len(cell))
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}
