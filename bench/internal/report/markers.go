package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// The benchmark writes the text between these lines of a Markdown file.
const (
	beginMarker = "<!-- bench: from here on to the end marker, `make bench` writes -->"
	endMarker   = "<!-- bench: end -->"
)

// ErrNoMarkers is returned when a text does not have exactly one pair of markers, in order.
var ErrNoMarkers = errors.New("the text needs one line " + beginMarker + " and, below it, one line " + endMarker)

// Replace replaces the section between the markers of a text. Text outside the markers is not changed.
func Replace(text, section []byte) ([]byte, error) {
	before, rest, begins := bytes.Cut(text, []byte(beginMarker+"\n"))
	_, after, ends := bytes.Cut(rest, []byte(endMarker+"\n"))
	if !begins || !ends || bytes.Contains(after, []byte(endMarker)) || bytes.Contains(rest, []byte(beginMarker)) {
		return nil, ErrNoMarkers
	}
	return bytes.Join([][]byte{before, []byte(beginMarker + "\n\n"), bytes.TrimSpace(section),
		[]byte("\n\n" + endMarker + "\n"), after}, nil), nil
}

// replaceIn applies Replace to a file.
func replaceIn(path string, section []byte) error {
	text, err := os.ReadFile(path)
	if err == nil {
		text, err = Replace(text, section)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write results into %s: %w", path, err)
	}
	return nil
}
