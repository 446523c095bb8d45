package observe

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

type column struct {
	title string
	of    func(*Open) string
}

// The columns of tables, in this order. Only a table of watches has watchColumns.
var (
	columns = []column{
		{"AGE", func(o *Open) string { return shortly(o.AgeSeconds) }},
		{"STATE", func(o *Open) string { return o.State }},
		{"FOR", func(o *Open) string { return shortly(o.StateSeconds) }},
		{"WAITS-FOR", func(o *Open) string { return o.WaitsFor }},
		{"BYTES", func(o *Open) string { return strconv.FormatInt(o.Bytes, 10) }},
	}
	watchColumns = []column{
		{"EVENTS", func(o *Open) string { return strconv.FormatInt(o.Events, 10) }},
		{"LAG", func(o *Open) string { return shortly(o.LagSeconds) }},
		{"BEHIND", func(o *Open) string { return strconv.FormatInt(o.LagEvents, 10) }},
		{"AT-RV", func(o *Open) string { return numbered(o.At) }},
	}
	callerColumns = []column{
		{"VERB", func(o *Open) string { return o.Verb }},
		{"RESOURCE", (*Open).resource},
		{"NAMESPACE", func(o *Open) string { return o.Namespace }},
		{"NAME", func(o *Open) string { return o.Name }},
		{"LABELS", func(o *Open) string { return o.LabelSelector }},
		{"FIELDS", func(o *Open) string { return o.FieldSelector }},
		{"RV", func(o *Open) string { return o.ResourceVersion }},
		{"MODE", func(o *Open) string { return o.Mode }},
		{"SOURCE", func(o *Open) string { return o.Source }},
		{"REASON", func(o *Open) string { return o.Reason }},
		{"USER", func(o *Open) string { return o.User }},
		{"USER-AGENT", func(o *Open) string { return o.UserAgent }},
		{"CLIENT", func(o *Open) string { return o.Client }},
		{"AUDIT-ID", func(o *Open) string { return o.AuditID }},
	}
)

// WriteText writes the list as a table with one line for each request.
func (l *OpenList) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%d in flight, %d listed\n", l.Total, len(l.Items)); err != nil {
		return err
	}
	if len(l.Items) == 0 {
		return nil
	}
	shown := columns
	if l.Items[0].OpenWatch != nil {
		shown = append(shown[:len(shown):len(shown)], watchColumns...)
	}
	shown = append(shown[:len(shown):len(shown)], callerColumns...)
	return WriteTable(w, len(l.Items), titlesOf(shown), func(row int, cells []string) {
		for i := range shown {
			cells[i] = shown[i].of(&l.Items[row])
		}
	})
}

func titlesOf(columns []column) []string {
	var titles []string
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	return titles
}

// WriteTable writes rows below titles in the style of kubectl, with <none> for empty cells. fill must set each cell of
// a row, because all rows use the same slice.
func WriteTable(w io.Writer, rows int, titles []string, fill func(row int, cells []string)) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	if _, err := fmt.Fprintln(table, strings.Join(titles, "\t")); err != nil {
		return err
	}
	cells := make([]string, len(titles))
	for row := range rows {
		fill(row, cells)
		for i, cell := range cells {
			if cell == "" {
				cells[i] = "<none>"
			}
		}
		if _, err := fmt.Fprintln(table, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}

func (o *Open) resource() string { return ResourceName(o.Resource, o.Group, o.Subresource) }

// ResourceName returns a resource with its group and subresource: deployments.apps, pods/log.
func ResourceName(resource, group, subresource string) string {
	if group != "" {
		resource += "." + group
	}
	if subresource != "" {
		resource += "/" + subresource
	}
	return resource
}

func shortly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

func numbered(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}
