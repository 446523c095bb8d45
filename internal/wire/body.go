package wire

import (
	"io"
	"time"
)

// Filter turns what is written to it into another text on its way to w, for instance NewIndenter. Closing it completes
// the text, and does not close w.
type Filter func(w io.Writer) io.WriteCloser

// BodyOptions say how a body goes out.
type BodyOptions struct {
	// AcceptEncoding is the request's header.
	AcceptEncoding string
	// Announce is called before the first byte of a body that is compressed.
	Announce func()
	// Filter is what the whole body goes through before it is compressed; nil when it goes as it is.
	Filter Filter
	// Precompressed keeps what is compressed ahead; nil when nothing is.
	Precompressed *Precompressed
}

// Body is the body of one answer on its way to a client: filtered if it has to be, and one gzip member if it is large
// and the client takes it. What writes lists and objects into it is part of it, so that what was compressed before can
// be put into the member as it is. Used by one goroutine.
type Body struct {
	member        *member
	filter        io.WriteCloser // nil when there is none
	precompressed *Precompressed // nil when nothing is to be compressed ahead
	items         int            // of lists that were written
}

// NewBody writes a body to w.
func NewBody(w io.Writer, o BodyOptions) *Body {
	b := &Body{member: &member{w: w, allowed: AcceptsGzip(o.AcceptEncoding), announce: o.Announce}}
	if o.Filter != nil {
		b.filter = o.Filter(b.member)
	} else if b.member.allowed && o.Precompressed != nil && o.Precompressed.keeps() {
		b.precompressed = o.Precompressed
	}
	return b
}

// Write implements io.Writer.
func (b *Body) Write(p []byte) (int, error) {
	if b.filter != nil {
		return b.filter.Write(p)
	}
	return b.member.Write(p)
}

// Remembers reports whether what a selector leaves of pages is worth remembering: the body may be compressed, and the
// user has asked before. Then a list is to be written from runs that have the selector.
func (b *Body) Remembers(asked Asked) bool {
	return b.precompressed != nil && b.precompressed.sees(asked)
}

// Items is how many items the lists had that were written.
func (b *Body) Items() int { return b.items }

// WriteObject writes a body of one object, and nothing else is written into it. The body is not closed.
func (b *Body) WriteObject(shape Shape, f Representation, it *Item) error {
	object := objects.Get().(*[]byte)
	*object = shape.AppendObject((*object)[:0], f, it, time.Now())
	w := io.Writer(b)
	if b.filter == nil && len(*object) <= compressFrom {
		b.member.length += int64(len(*object))
		w = b.member.w // it is known not to be compressed, so that nothing has to be held back
	}
	_, err := w.Write(*object)
	if err == nil && cap(*object) <= keepPiece { // else HTTP/2 may still be about to read it
		objects.Put(object)
	}
	return err
}

// Length is how many bytes the body has so far, before it is compressed.
func (b *Body) Length() int64 { return b.member.length }

// Close completes the body; it does not close the writer below.
func (b *Body) Close() error {
	if b.filter != nil {
		if err := b.filter.Close(); err != nil {
			return err
		}
	}
	return b.member.Close()
}
