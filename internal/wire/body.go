package wire

import (
	"io"
	"time"
)

// Filter returns a writer that transforms the written text and writes the result to w, as NewIndenter does. Closing the
// writer completes the text, but does not close w.
type Filter func(w io.Writer) io.WriteCloser

// BodyOptions are the options of a Body.
type BodyOptions struct {
	AcceptEncoding string
	// Announce is called before the first byte of a compressed body.
	Announce func()
	// Filter transforms the complete body before compression; nil for none.
	Filter Filter
	// Precompressed caches the compressed text of runs; nil disables the cache.
	Precompressed *Precompressed
}

// Body is the body of one response. If there is a filter, Body filters the text. If the text is large and the client
// accepts gzip, Body compresses it as one gzip member. Body copies precompressed runs (parts of pages) into this
// member. Used by one goroutine.
type Body struct {
	member        *member
	filter        io.WriteCloser // nil for none
	precompressed *Precompressed // nil if the body uses no precompressed runs
	items         int
}

// NewBody returns a body that is written to w.
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

// Remembers reports whether the body should cache the result of a selector as precompressed runs. This is so if the
// body may be compressed, and the user has sent the same selector before. The caller then sets Run.Selector. Remembers
// also records the selector for later requests.
func (b *Body) Remembers(asked SelectorUse) bool {
	return b.precompressed != nil && b.precompressed.repeated(asked)
}

// Items returns the number of list items written so far.
func (b *Body) Items() int { return b.items }

// WriteObject writes a body of one object. It does not close the body.
func (b *Body) WriteObject(shape Shape, f Representation, it *Item) error {
	object := objects.Get().(*[]byte)
	*object = shape.AppendObject((*object)[:0], f, it, time.Now())
	w := io.Writer(b)
	if b.filter == nil && len(*object) <= compressFrom {
		b.member.length += int64(len(*object))
		w = b.member.w // the body is too small for compression, so buffering it is unnecessary
	}
	_, err := w.Write(*object)
	if err == nil && cap(*object) <= keepPiece { // after an error, HTTP/2 may still read the buffer
		objects.Put(object)
	}
	return err
}

// Length returns the number of bytes written so far, before compression.
func (b *Body) Length() int64 { return b.member.length }

// Close completes the body. It does not close the underlying writer.
func (b *Body) Close() error {
	if b.filter != nil {
		if err := b.filter.Close(); err != nil {
			return err
		}
	}
	return b.member.Close()
}
