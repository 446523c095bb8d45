package timeline

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/observe"
)

type column struct {
	title string
	of    func(*Entry) string
}

type tableFormat struct {
	columns []column
	// gathers says whether the table shows holes with the same note in one line. It must be false if the lines are in the
	// order of time.
	gathers bool
}

// manyHoles is the minimum number of holes that gather combines in one line.
const manyHoles = 4

// The columns of both commands. The last column shows the period of a hole.
var (
	timeColumn    = column{"TIME", func(e *Entry) string { return stamp(e.Time) }}
	versionColumn = column{"VERSION", func(e *Entry) string {
		if e.Version == 0 {
			return ""
		}
		return strconv.FormatUint(e.Version, 10)
	}}
	changeColumn = column{"CHANGE", func(e *Entry) string { return string(e.Type) }}
	byColumn     = column{"BY", (*Entry).by}
	fieldsColumn = column{"FIELDS", (*Entry).summary}

	diffTable = tableFormat{gathers: true, columns: []column{
		changeColumn,
		{"RESOURCE", func(e *Entry) string { return e.Resource.String() }},
		{"NAMESPACE", func(e *Entry) string { return e.Namespace }},
		{"NAME", func(e *Entry) string { return e.Name }},
		timeColumn, byColumn, fieldsColumn,
	}}
	logTable = tableFormat{columns: []column{timeColumn, versionColumn, changeColumn, byColumn, fieldsColumn}}
)

// tablePrinter prints one line for each entry. It keeps the texts until it knows the widths of the columns.
type tablePrinter struct {
	tableFormat
	out   io.Writer
	rows  [][]string
	holes []Entry // holes that gather adds at the end
}

func (p *tablePrinter) print(e *Entry) error {
	if e.Type == Lost && p.gathers {
		p.holes = append(p.holes, *e)
		return nil
	}
	p.add(e)
	return nil
}

func (p *tablePrinter) add(e *Entry) {
	row := make([]string, len(p.columns))
	for i, c := range p.columns {
		row[i] = printable(c.of(e))
	}
	p.rows = append(p.rows, row)
}

func (p *tablePrinter) gather() {
	slices.SortStableFunc(p.holes, func(a, b Entry) int { return strings.Compare(a.Note, b.Note) })
	for len(p.holes) > 0 {
		n := 1
		for n < len(p.holes) && p.holes[n].Note == p.holes[0].Note {
			n++
		}
		similar := p.holes[:n]
		p.holes = p.holes[n:]
		if n >= manyHoles {
			similar = []Entry{together(similar)}
		}
		for i := range similar {
			p.add(&similar[i])
		}
	}
}

func together(holes []Entry) Entry {
	all := holes[0]
	all.Resource = Resource{Resource: fmt.Sprintf("(%d holes)", len(holes))}
	for _, e := range holes[1:] {
		if e.Since.Before(all.Since) {
			all.Since = e.Since
		}
		if e.Time.After(all.Time) {
			all.Time = e.Time
		}
	}
	return all
}

func (p *tablePrinter) close() error {
	p.gather()
	if len(p.rows) == 0 {
		_, err := fmt.Fprintln(p.out, "No changes.")
		return err
	}
	titles := make([]string, len(p.columns))
	for i, c := range p.columns {
		titles[i] = c.title
	}
	return observe.WriteTable(p.out, len(p.rows), titles, func(row int, cells []string) { copy(cells, p.rows[row]) })
}

func printable(text string) string { return observe.Printable(text, len(text)) }

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// object returns the resource and the name: deployments.apps shop/web.
func (e *Entry) object() string {
	name := e.Name
	if e.Namespace != "" {
		name = e.Namespace + "/" + name
	}
	return strings.TrimSpace(e.Resource.String() + " " + name)
}

func (e *Entry) by() string {
	var names []string
	for _, m := range e.Managers {
		name := m.Name
		if m.Subresource != "" {
			name += " (" + m.Subresource + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// Limits of the summary in a table: the number of fields, and the length of a value in bytes.
const (
	mostFields = 4
	mostValue  = 60
)

// summary returns the fields with their values, or the period of a hole.
func (e *Entry) summary() string {
	if e.Type == Lost {
		return e.Note + ": " + e.lost()
	}
	var parts []string
	for i, f := range e.Fields {
		if i == mostFields {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Fields)-i))
			break
		}
		parts = append(parts, f.String())
	}
	if e.Note != "" {
		parts = append(parts, "("+e.Note+")")
	}
	return strings.Join(parts, ", ")
}

func (e *Entry) lost() string {
	if e.Since.IsZero() {
		return "until " + stamp(e.Time)
	}
	return "from " + stamp(e.Since) + " to " + stamp(e.Time)
}

// String returns the field with both values: spec.replicas: 3 -> 0.
func (f Field) String() string {
	switch {
	case f.Before == nil:
		return "+" + f.Path + ": " + short(f.After)
	case f.After == nil:
		return "-" + f.Path + ": " + short(f.Before)
	}
	return f.Path + ": " + short(f.Before) + " -> " + short(f.After)
}

// short returns a value in one line of limited length.
func short(value any) string {
	text, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		if err != nil {
			return "?" // not JSON, so not from an object
		}
		text = string(encoded)
	}
	if len(text) > mostValue {
		return observe.Printable(text, mostValue) + "..."
	}
	return text
}
