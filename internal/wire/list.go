package wire

import (
	"iter"
	"sync"
	"time"
	"unique"
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
// lists are written from the same Page, so what is prepared for one in a Representation serves many answers.
type Page interface {
	// Len is how many objects there are.
	Len() int
	// Item is the object at a place from 0 up to but not including Len.
	Item(at int) *Item
	// Precompressed are what is kept of what it looks like in bodies; nil when nothing is.
	Precompressed() *PrecompressedPage
}

// Run is the part of a page that belongs to a list: its items From up to but not including To.
type Run struct {
	Page     Page
	From, To int
	// Selector selects which of them do; nil when all do.
	Selector *Selector
}

// Selector selects items. It is for lists of which parts are compressed ahead: whether an item is selected is not asked
// again for a part that is there.
type Selector struct {
	// Name tells what is selected: equal names select the same items of a page.
	Name unique.Handle[string]
	// Selects tells whether the item at a place of a page is selected.
	Selects func(p Page, at int) bool
}

func (r Run) selects(at int) bool { return r.Selector == nil || r.Selector.Selects(r.Page, at) }

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
	// Representation is what its items are in: Listed, Partial or Row.
	Representation Representation
	Meta           ListMeta
	// Now is what ages in it are counted to.
	Now time.Time
	// Runs together are all its items, in order. They are read once.
	Runs iter.Seq[Run]
}

// WriteList writes a list into a body, run by run. The body is not closed.
func (b *Body) WriteList(list List) error {
	style := list.Shape.List(list.Representation, list.Now)
	l := listWriter{list: list, body: b, style: style, separator: style.Separator(), piece: pieces.Get().(*[]byte)}
	if m, ok := style.(MeasuredStyle); ok {
		return l.measured(m)
	}
	for run := range list.Runs {
		if err := l.run(run, l.precompressed(run, len(*l.piece))); err != nil {
			return err
		}
	}
	return l.end()
}

// measured writes a list whose head says how long its items are together.
func (l *listWriter) measured(style MeasuredStyle) error {
	var runs []Run // and not what was compressed ahead, which may be evicted while a slow client reads
	total := 0
	for run := range l.list.Runs {
		runs = append(runs, run)
		if text := l.precompressed(run, total); text != nil {
			total += text.Length()
			continue
		}
		for at := run.From; at < run.To; at++ {
			if run.selects(at) {
				total += style.Len(run.Page.Item(at))
			}
		}
	}
	style.SetTotal(total)
	for _, run := range runs {
		if err := l.run(run, l.precompressed(run, total)); err != nil {
			return err
		}
	}
	return l.end()
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

// run adds a run of a page: as it was compressed ahead, unless it was not, or the body may turn out to be too small to
// be compressed.
func (l *listWriter) run(r Run, ahead *Deflated) error {
	if ahead != nil {
		if len(ahead.items) == 0 || l.body.member.takes(len(*l.piece)+len(l.separator)+ahead.Length()) {
			return l.splice(ahead)
		}
		return l.positions(r.Page, ahead.items)
	}
	for at := r.From; at < r.To; at++ {
		if !r.selects(at) {
			continue
		}
		if err := l.item(r.Page.Item(at)); err != nil {
			return err
		}
	}
	return nil
}

// places adds items of a page that are known to be selected.
func (l *listWriter) positions(p Page, items []uint16) error {
	for _, at := range items {
		if err := l.item(p.Item(int(at))); err != nil {
			return err
		}
	}
	return nil
}

// item adds an object. The head is written before the first, since it depends on whether there is one.
func (l *listWriter) item(it *Item) error {
	l.between()
	l.body.items++
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
