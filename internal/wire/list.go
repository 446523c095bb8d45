package wire

import (
	"iter"
	"slices"
	"sync"
	"time"
)

// ListMeta is a list's metadata.
type ListMeta struct {
	ResourceVersion string
	Continue        string // empty when the list is complete
	// RemainingItemCount is how many items follow; nil when it is not told (semantics 2.6).
	RemainingItemCount *int64
}

// ListStyle is one form of list: what stands around and between its items. Used for one list.
type ListStyle interface {
	// AppendHead appends what stands before the items, of which there may be none.
	AppendHead(dst []byte, meta ListMeta, content Content) []byte
	// AppendItem appends an item.
	AppendItem(dst []byte, it *Item) []byte
	// Separator stands between two items.
	Separator() string
	// AppendTail appends what stands behind the items.
	AppendTail(dst []byte, meta ListMeta, content Content) []byte
}

// MeasuredStyle is a ListStyle whose head says how long the items are together, so that all of them are looked at
// before the first is written.
type MeasuredStyle interface {
	ListStyle
	// Len is how many bytes AppendItem appends for an item, with what stands between it and the next.
	Len(it *Item) int
	// SetTotal says, before AppendHead, how long all items are together.
	SetTotal(bytes int)
}

// Content is whether a list has items: some are written in another way when they have none.
type Content int

// The contents.
const (
	Empty Content = iota
	Filled
)

// Page is a run of neighbouring objects that nothing changes. It has identity: as long as none of its objects changes,
// lists are written from the same Page, so what is prepared for one in a Form serves many answers.
type Page interface {
	// Len is how many objects there are.
	Len() int
	// Item is the object at a place from 0 up to but not including Len.
	Item(at int) *Item
	// Forms are what is kept of what it looks like in bodies; nil when nothing is.
	Forms() *PageForms
}

// Run is the part of a page that belongs to a list: its items From up to but not including To.
type Run struct {
	Page     Page
	From, To int
}

// pieceSize is how much is written at once: smaller writes cost HTTP/2 and TLS twice and more per byte.
const pieceSize = 128 << 10

// keepPiece is how large in bytes a buffer may be that is used again.
const keepPiece = 1 << 20

// pieces are the buffers of bodies; one has grown with the largest object that was in it.
var pieces = sync.Pool{New: func() any {
	b := make([]byte, 0, pieceSize+64<<10)
	return &b
}}

// objects are the buffers of single objects, which are far smaller than a list's pieces.
var objects = sync.Pool{New: func() any { return new([]byte) }}

// release gives a buffer back. What is not given back is garbage, which is what the buffer of a broken answer deserves.
func release(piece *[]byte) {
	if cap(*piece) <= keepPiece {
		*piece = (*piece)[:0]
		pieces.Put(piece)
	}
}

// List is what a list is written from.
type List struct {
	Shape Shape
	// Form is what its items are in: Listed, Partial or Row.
	Form Form
	Meta ListMeta
	// Now is what ages in it are counted to.
	Now time.Time
	// Runs together are all its items, in order. They are read once.
	Runs iter.Seq[Run]
}

// WriteList writes a list into a body, run by run. The body is not closed.
func (b *Body) WriteList(list List) error {
	style, runs := list.Shape.List(list.Form, list.Now), list.Runs
	if m, ok := style.(MeasuredStyle); ok {
		all := slices.Collect(runs)
		m.SetTotal(measure(m, all))
		runs = slices.Values(all)
	}
	l := listWriter{list: list, body: b, style: style, separator: style.Separator(), piece: pieces.Get().(*[]byte)}
	for run := range runs {
		if err := l.run(run); err != nil {
			return err
		}
	}
	return l.end()
}

// measure is how long the items of a list are together.
func measure(style MeasuredStyle, runs []Run) int {
	total := 0
	for _, r := range runs {
		for at := r.From; at < r.To; at++ {
			total += style.Len(r.Page.Item(at))
		}
	}
	return total
}

// listWriter writes one list in pieces.
type listWriter struct {
	list      List
	body      *Body
	style     ListStyle
	separator string
	piece     *[]byte
	content   Content
}

// run adds a run of a page.
func (l *listWriter) run(r Run) error {
	if ahead := l.ahead(r); ahead != nil {
		return l.splice(ahead)
	}
	for at := r.From; at < r.To; at++ {
		if err := l.item(r.Page.Item(at)); err != nil {
			return err
		}
	}
	return nil
}

// item adds an object. The head is written before the first, since it depends on whether there is one.
func (l *listWriter) item(it *Item) error {
	l.between()
	*l.piece = l.style.AppendItem(*l.piece, it)
	if len(*l.piece) < pieceSize {
		return nil
	}
	return l.send()
}

// between adds what stands before the next item.
func (l *listWriter) between() {
	if l.content == Empty {
		l.content = Filled
		*l.piece = l.style.AppendHead(*l.piece, l.list.Meta, Filled)
	} else {
		*l.piece = append(*l.piece, l.separator...)
	}
}

// end completes the list.
func (l *listWriter) end() error {
	if l.content == Empty {
		*l.piece = l.style.AppendHead(*l.piece, l.list.Meta, Empty)
	}
	*l.piece = l.style.AppendTail(*l.piece, l.list.Meta, l.content)
	err := l.send()
	release(l.piece)
	return err
}

func (l *listWriter) send() error {
	_, err := l.body.Write(*l.piece)
	*l.piece = (*l.piece)[:0]
	return err
}
