package page

import (
	"fmt"
	"io"

	"github.com/listfacade/listfacade/internal/observe"
)

func (v *view) writeText(w io.Writer) error {
	if v.problems {
		if err := v.writeProblems(w); err != nil {
			return err
		}
	}
	for _, t := range v.Named() {
		if v.Whole {
			if _, err := fmt.Fprintf(w, "\n%s\n%s", t.Title, lineOf(t.Note)); err != nil {
				return err
			}
		}
		if err := t.writeText(w); err != nil {
			return err
		}
	}
	return nil
}

func lineOf(text string) string {
	if text == "" {
		return ""
	}
	return text + "\n"
}

func (v *view) writeProblems(w io.Writer) error {
	if len(v.Problems) == 0 {
		_, err := fmt.Fprintln(w, v.Calm())
		return err
	}
	for _, p := range v.Problems {
		if _, err := fmt.Fprintf(w, "%s: %s\n%s%s%s", p.Severity, p.What, indented(p.Detail), indented(p.Runbook),
			indented(p.Replay)); err != nil {
			return err
		}
	}
	return nil
}

func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text + "\n"
}

func (t *table) writeText(w io.Writer) error {
	if len(t.Rows) == 0 {
		_, err := fmt.Fprintln(w, t.Empty)
		return err
	}
	titles := make([]string, len(t.Heads))
	for i, h := range t.Heads {
		titles[i] = h.Title
	}
	if err := observe.WriteTable(w, len(t.Rows), titles, func(row int, cells []string) {
		for i, c := range t.Rows[row] {
			cells[i] = c.Text
		}
	}); err != nil || t.More == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "and %d more\n", t.More)
	return err
}
