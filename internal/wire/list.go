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
	// RemainingItemCount is the number of items that follow; nil when it is omitted (semantics 2.6).
	RemainingItemCount *int64
	// Shards is the shard selector in shardInfo; empty when it is omitted. It contains no character that JSON escapes.
	// Callers leave it empty for Representations other than Listed, as kube-apiserver does. Lists of custom resources
	// never have it.
	Shards string
}

// ListStyle writes the text around and between the items of one list.
type ListStyle interface {
	// AppendHead appends the text before the items.
	AppendHead(dst []byte, meta ListMeta, content Content) []byte
	// AppendItem appends an item.
	AppendItem(dst []byte, it *Item) []byte
	Separator() string
	// AppendTail appends the text after the items.
	AppendTail(dst []byte, meta ListMeta, content Content) []byte
}

// MeasuredStyle is a ListStyle whose head contains the total length of the items. Therefore WriteList measures all
// items before it writes the first item.
type MeasuredStyle interface {
	ListStyle
	// Len returns the number of bytes that AppendItem appends for an item. Separator must return "".
	Len(it *Item) int
	// SetTotal sets the total length of all items in bytes. It is called before AppendHead.
	SetTotal(bytes int)
}

// Content says whether a list has items. Some styles write null instead of an empty array.
type Content int

// The values of Content.
const (
	Empty Content = iota
	Filled
)

// Page is an immutable sequence of neighbouring objects. Lists use the same Page until one of its objects changes.
// Therefore the precompressed text of a page serves many responses.
type Page interface {
	Len() int
	// Item returns the object at a position from 0 to Len-1.
	Item(at int) *Item
	// Precompressed returns the cached runs of the page; nil if its runs are never cached.
	Precompressed() *PrecompressedPage
}

// Run is a part of a page: the items at positions From to To-1.
type Run struct {
	Page     Page
	From, To int
	// Selector selects items of the run; nil selects all.
	Selector *Selector
}

// Selector selects items for lists with precompressed runs. WriteList does not evaluate it for runs that are in the
// cache.
type Selector struct {
	// Name identifies the selector. Selectors with equal names select the same items of a page.
	Name unique.Handle[string]
	// Selects reports whether the item at a position of a page is selected.
	Selects func(p Page, at int) bool
}

func (r Run) selects(at int) bool { return r.Selector == nil || r.Selector.Selects(r.Page, at) }

// pieceSize is the approximate size in bytes of a list's writes. Small writes cost HTTP/2 and TLS more per byte.
const pieceSize = 128 << 10

// keepPiece is the maximum capacity in bytes of a buffer that returns to a pool.
const keepPiece = 1 << 20

var pieces = sync.Pool{New: func() any {
	b := make([]byte, 0, pieceSize+64<<10)
	return &b
}}

// objects is a pool of buffers for single objects, which are much smaller than a list's pieces.
var objects = sync.Pool{New: func() any { return new([]byte) }}

func release(piece *[]byte) {
	if cap(*piece) <= keepPiece {
		*piece = (*piece)[:0]
		pieces.Put(piece)
	}
}

// List describes a list to write.
type List struct {
	Shape Shape
	// Representation is Listed, Partial or Row.
	Representation Representation
	Meta           ListMeta
	// Now is the time that ages in the list are relative to.
	Now time.Time
	// Runs are the runs of all items, in order. WriteList reads them once.
	Runs iter.Seq[Run]
}

// WriteList writes a list, run by run. It does not close the body.
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

func (l *listWriter) measured(style MeasuredStyle) error {
	var runs []Run // without the precompressed text, which the cache can then evict while a slow client reads
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

type listWriter struct {
	list      List
	body      *Body
	style     ListStyle
	separator string
	piece     *[]byte
	content   Content
}

// run writes a run of a page, from precompressed text if there is any. If the body with this text is too small for
// compression, run writes the same items one by one.
func (l *listWriter) run(r Run, text *Deflated) error {
	if text != nil {
		if len(text.items) == 0 || l.body.member.takes(len(*l.piece)+len(l.separator)+text.Length()) {
			return l.splice(text)
		}
		return l.positions(r.Page, text.items)
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

func (l *listWriter) positions(p Page, items []uint16) error {
	for _, at := range items {
		if err := l.item(p.Item(int(at))); err != nil {
			return err
		}
	}
	return nil
}

// item writes an object. Before the first object, it writes the head, which depends on whether the list is empty.
func (l *listWriter) item(it *Item) error {
	l.between()
	l.body.items++
	*l.piece = l.style.AppendItem(*l.piece, it)
	if len(*l.piece) < pieceSize {
		return nil
	}
	return l.send()
}

func (l *listWriter) between() {
	if l.content == Empty {
		l.content = Filled
		*l.piece = l.style.AppendHead(*l.piece, l.list.Meta, Filled)
	} else {
		*l.piece = append(*l.piece, l.separator...)
	}
}

func (l *listWriter) end() error {
	if l.content == Empty {
		*l.piece = l.style.AppendHead(*l.piece, l.list.Meta, Empty)
	}
	*l.piece = l.style.AppendTail(*l.piece, l.list.Meta, l.content)
	err := l.send()
	if err == nil { // after an error, HTTP/2 may still read the buffer
		release(l.piece)
	}
	return err
}

func (l *listWriter) send() error {
	_, err := l.body.Write(*l.piece)
	*l.piece = (*l.piece)[:0]
	return err
}
