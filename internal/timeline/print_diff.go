package timeline

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/listfacade/listfacade/internal/observe"
)

// diffPrinter prints entries as unified differences of YAML, as "kubectl diff" does.
type diffPrinter struct{ out io.Writer }

func (p diffPrinter) print(e *Entry) error {
	if e.Type == Existed {
		return nil // the next difference has this object as its old text
	}
	if _, err := fmt.Fprintf(p.out, "# %s\n", printable(strings.Join(heading(e), " "))); err != nil || e.Type == Lost {
		return err
	}
	before, err := yamlOf(e.before)
	if err != nil {
		return err
	}
	after, err := yamlOf(e.after)
	if err != nil {
		return err
	}
	text := diff.Diff("before", before, "after", after)
	_, text, _ = bytes.Cut(text, []byte("\n")) // the first line repeats the names
	// YAML does not escape all control characters, but PrintableLines does.
	_, err = io.WriteString(p.out, observe.PrintableLines(string(text)))
	return err
}

func (diffPrinter) close() error { return nil }

func heading(e *Entry) []string {
	words := []string{string(e.Type), e.object()}
	if e.Type == Lost {
		words = append(words, e.lost())
	} else if !e.Time.IsZero() {
		words = append(words, "at "+stamp(e.Time))
	}
	if e.Version > 0 {
		words = append(words, fmt.Sprintf("version %d", e.Version))
	}
	if by := e.by(); by != "" {
		words = append(words, "by "+by)
	}
	if e.Note != "" {
		words = append(words, "("+e.Note+")")
	}
	return words
}

func yamlOf(content tree) ([]byte, error) {
	if content == nil {
		return nil, nil
	}
	return toYAML(content)
}
