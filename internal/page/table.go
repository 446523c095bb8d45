package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// cell is one value of a table: as it is shown, and as it is sorted and drawn.
type cell struct {
	Text string
	// Title is what more there is to say of it, for who points at it.
	Title  string
	number float64
	// Class is how it looks: good, bad, warn, dim, code; empty for plain text.
	Class string
}

func text(s string) cell { return cell{Text: s} }

func dim(s string) cell { return cell{Text: s, Class: "dim"} }

func number[N int | int64 | uint64](n N) cell { return cell{Text: count(n), number: float64(n)} }

func sized(n int64) cell { return cell{Text: size(n), Title: count(n) + " bytes", number: float64(n)} }

func lasting(s float64) cell { return cell{Text: duration(seconds(s)), number: s} }

// or is another cell where a number is 0.
func (c cell) or(other cell) cell {
	if c.number == 0 {
		return other
	}
	return c
}

// as is the cell in another look, where a condition holds.
func (c cell) as(class string, when bool) cell {
	if when {
		c.Class = class
	}
	return c
}

// column is one of a table of T. Those that have a key are sorted by it.
type column[T any] struct {
	key, title string
	right      bool // numbers; the highest come first when it is sorted by
	of         func(*T) cell
}

// table is what the templates and the text show.
type table struct {
	Name, Title string
	Note        string // below the title
	Empty       string // instead of rows
	Heads       []head
	Rows        [][]cell
	More        int // rows that are not shown
	JSON        string
	Choices     []choice // of what it is about
	Key         int      // the column that says what a row is about
}

// Narrow tells a table that ends with numbers, which stay beside the others.
func (t *table) Narrow() bool { return len(t.Heads) > 0 && t.Heads[len(t.Heads)-1].Right }

// Rest is how many rows are not shown.
func (t *table) Rest() string { return count(t.More) }

type head struct {
	Title  string
	Right  bool
	Link   string // sorts by it; empty when it is not sorted by
	Sorted string // ascending or descending; empty when the table is not sorted by it
}

// choice is one of several, of which one is taken.
type choice struct {
	Title, Link string
	Taken       bool
}

// tabled makes a table of rows, in the order that a query asks for; usual is the key that counts where it asks for
// none.
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

// listed makes a table of rows that come sorted by a key; empty where nothing is.
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

// mostRows is how many rows of a table are shown; the JSON has all.
const mostRows = 200

func columnKeys[T any](columns []column[T]) (keys []string) {
	for _, c := range columns {
		if c.key != "" {
			keys = append(keys, c.key)
		}
	}
	return keys
}

// query is what a request asks of the page.
type query struct {
	values url.Values
	errs   []string
}

// order reads by what a table is sorted: the usual key if the query says nothing. down is the usual way: numbers from
// the highest, texts from A; a minus in front turns it around.
func (q *query) order(name, usual string, keys []string) (by string, down bool) {
	asked := q.values.Get(name)
	by = strings.TrimPrefix(asked, "-")
	if by == "" {
		return usual, true
	}
	if !slices.Contains(keys, by) {
		q.unsupported(name, asked, keys)
		return usual, true
	}
	return by, asked == by
}

// one is a parameter with a closed set of values, of which the first is the default.
func (q *query) one(name string, values []string) string {
	asked := q.values.Get(name)
	if asked == "" {
		return values[0]
	}
	if !slices.Contains(values, asked) {
		q.unsupported(name, asked, values)
		return values[0]
	}
	return asked
}

// refresh is after how many seconds the page is to be loaded again; 0 is never.
func (q *query) refresh() int {
	asked := q.values.Get("refresh")
	if asked == "" {
		return usualRefresh
	}
	every, err := strconv.Atoi(asked)
	if err != nil || every != 0 && (every < leastRefresh || every > mostRefresh) {
		q.errs = append(q.errs, "refresh: Invalid value: "+quoted(asked)+": must be 0 for never, or "+strconv.Itoa(leastRefresh)+" to "+
			strconv.Itoa(mostRefresh)+" seconds")
	}
	return every
}

// How often the page is loaded again, in seconds.
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

// quoted is as much of a value as a refusal repeats.
func quoted(value string) string { return strconv.QuoteToASCII(value[:min(len(value), 64)]) }

// with is the query with one parameter changed, as a relative link.
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

// parameters are those that links keep.
var parameters = []string{lanes, clients, watches, requests, slow, upstreams, "refresh"}
