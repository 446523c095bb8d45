package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type cell struct {
	Text string
	// Title is the tooltip.
	Title  string
	number float64 // sort key
	// Class is the style: good, bad, warn, dim or code; empty for plain text.
	Class string
}

func text(s string) cell { return cell{Text: s} }

func dim(s string) cell { return cell{Text: s, Class: "dim"} }

func number[N int | int64 | uint64](n N) cell { return cell{Text: count(n), number: float64(n)} }

func sized(n int64) cell { return cell{Text: size(n), Title: count(n) + " bytes", number: float64(n)} }

func lasting(s float64) cell { return cell{Text: duration(seconds(s)), number: s} }

// or returns other if the number of c is 0, and c otherwise.
func (c cell) or(other cell) cell {
	if c.number == 0 {
		return other
	}
	return c
}

func (c cell) as(class string, when bool) cell {
	if when {
		c.Class = class
	}
	return c
}

// column is a column of a table of T. A table can be sorted by columns that have a key.
type column[T any] struct {
	key, title string
	right      bool // contains numbers, and by default the highest is first
	of         func(*T) cell
}

type table struct {
	Name, Title string
	Note        string // below the title
	Empty       string // shown if there are no rows
	Heads       []head
	Rows        [][]cell
	More        int    // number of rows that are not shown
	JSON        string // link to the table as JSON
	Choices     []choice
	Key         int // column that identifies a row
}

// Narrow reports whether the last column contains numbers. Such a table is not stretched to the full width.
func (t *table) Narrow() bool { return len(t.Heads) > 0 && t.Heads[len(t.Heads)-1].Right }

func (t *table) Rest() string { return count(t.More) }

type head struct {
	Title  string
	Right  bool
	Link   string // link that sorts the table by the column; empty if the column has no key
	Sorted string // ascending or descending; empty if the table is not sorted by the column
}

// choice is an alternative order of a table. Taken marks the current order.
type choice struct {
	Title, Link string
	Taken       bool
}

// tabled returns a table of rows, sorted as the query requests. If the query names no sort key, usual is the sort key.
func tabled[T any](q *query, name, title, usual string, columns []column[T], rows []T) *table {
	by, down := q.order(name, usual, columnKeys(columns))
	at := slices.IndexFunc(columns, func(c column[T]) bool { return c.key == by })
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b T) int {
		x, y := columns[at].of(&a), columns[at].of(&b)
		order := cmp.Or(cmp.Compare(x.number, y.number), strings.Compare(x.Text, y.Text))
		if down == columns[at].right {
			return -order
		}
		return order
	})
	t := listed(q, name, title, columns, rows, by)
	h := &t.Heads[at]
	h.Sorted = map[bool]string{true: "descending", false: "ascending"}[down == columns[at].right]
	if down {
		h.Link = q.with(name, "-"+by) + "#" + name
	}
	return t
}

// listed returns a table of rows that are already sorted. by is the sort key; "" if that key has no column.
func listed[T any](q *query, name, title string, columns []column[T], rows []T, by string) *table {
	t := &table{Name: name, Title: title, Key: slices.IndexFunc(columns, func(c column[T]) bool { return !c.right })}
	for _, c := range columns {
		h := head{Title: c.title, Right: c.right}
		if c.key != "" {
			h.Link = q.with(name, c.key) + "#" + name
		}
		if c.key != "" && c.key == by {
			h.Sorted = map[bool]string{true: "descending", false: "ascending"}[c.right]
		}
		t.Heads = append(t.Heads, h)
	}
	shown := min(len(rows), mostRows)
	t.More = len(rows) - shown
	for i := range rows[:shown] {
		cells := make([]cell, len(columns))
		for j, c := range columns {
			cells[j] = c.of(&rows[i])
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// mostRows is the maximum number of rows of a table. It does not limit JSON.
const mostRows = 200

func columnKeys[T any](columns []column[T]) (keys []string) {
	for _, c := range columns {
		if c.key != "" {
			keys = append(keys, c.key)
		}
	}
	return keys
}

// query is the query of a request, with the errors found in it.
type query struct {
	values url.Values
	errs   []string
}

// order returns the sort key of a table; usual if the query names no key. down reports whether the direction is the
// default: numbers from the highest, texts from A. A leading minus in the query reverses the direction.
func (q *query) order(name, usual string, keys []string) (by string, down bool) {
	requested := q.values.Get(name)
	by = strings.TrimPrefix(requested, "-")
	if by == "" {
		return usual, true
	}
	if !slices.Contains(keys, by) {
		q.unsupported(name, requested, keys)
		return usual, true
	}
	return by, requested == by
}

// one returns the value of a parameter with a closed set of values, of which the first is the default.
func (q *query) one(name string, values []string) string {
	requested := q.values.Get(name)
	if requested == "" {
		return values[0]
	}
	if !slices.Contains(values, requested) {
		q.unsupported(name, requested, values)
		return values[0]
	}
	return requested
}

// refresh returns the interval in seconds after which the page reloads; 0 means never.
func (q *query) refresh() int {
	requested := q.values.Get("refresh")
	if requested == "" {
		return usualRefresh
	}
	every, err := strconv.Atoi(requested)
	if err != nil || every != 0 && (every < leastRefresh || every > mostRefresh) {
		q.errs = append(q.errs, "refresh: Invalid value: "+quoted(requested)+": must be 0 for never, or "+
			strconv.Itoa(leastRefresh)+" to "+
			strconv.Itoa(mostRefresh)+" seconds")
	}
	return every
}

// Default, minimum and maximum of the reload interval in seconds.
const (
	usualRefresh = 5
	leastRefresh = 2
	mostRefresh  = 3600
)

func (q *query) unsupported(name, value string, values []string) {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = strconv.Quote(v)
	}
	q.errs = append(q.errs, name+": Unsupported value: "+quoted(value)+": supported values: "+strings.Join(all, ", "))
}

// quoted quotes at most 64 bytes of a value for an error message.
func quoted(value string) string { return strconv.QuoteToASCII(value[:min(len(value), 64)]) }

// with returns a relative link with the query, in which one parameter is changed.
func (q *query) with(name, value string) string {
	values := url.Values{}
	for _, known := range parameters {
		if v := q.values.Get(known); v != "" && known != name {
			values.Set(known, v)
		}
	}
	if value != "" {
		values.Set(name, value)
	}
	return "?" + values.Encode()
}

// parameters are the parameters that links keep.
var parameters = []string{lanes, clients, watches, requests, slow, upstreams, "refresh"}
