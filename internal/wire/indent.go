package wire

import (
	"io"

	"github.com/listfacade/listfacade/internal/wire/scan"
)

// Indenter indents compact JSON by two spaces like json.MarshalIndent. It drops the newline at the end (semantics 6.8).
type Indenter struct {
	w       io.Writer
	out     []byte
	depth   int
	text    bool // whether the next byte is inside a string
	escaped bool // whether the previous byte is a backslash in a string
	open    bool // whether the previous byte opens an object or array, which may be empty
}

// NewIndenter returns an Indenter that writes to w.
func NewIndenter(w io.Writer) *Indenter { return &Indenter{w: w} }

// Write implements io.Writer.
func (n *Indenter) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i++ {
		if n.text && !n.escaped {
			i += n.copyText(p[i:])
			if i == len(p) {
				break
			}
		}
		n.step(p[i])
	}
	if len(n.out) < pieceSize {
		return len(p), nil
	}
	return len(p), n.Close()
}

func (n *Indenter) copyText(p []byte) int {
	plain := scan.PlainLen(p)
	n.out = append(n.out, p[:plain]...)
	return plain
}

func (n *Indenter) step(c byte) {
	if n.text {
		n.out = append(n.out, c)
		switch {
		case n.escaped:
			n.escaped = false
		case c == '\\':
			n.escaped = true
		case c == '"':
			n.text = false
		}
		return
	}
	switch c {
	case ' ', '\t', '\n', '\r':
		return
	case '}', ']':
		n.depth--
		if !n.open {
			n.newline()
		}
		n.open = false
		n.out = append(n.out, c)
		return
	}
	if n.open {
		n.open = false
		n.newline()
	}
	n.out = append(n.out, c)
	switch c {
	case '"':
		n.text = true
	case '{', '[':
		n.depth++
		n.open = true
	case ',':
		n.newline()
	case ':':
		n.out = append(n.out, ' ')
	}
}

func (n *Indenter) newline() {
	n.out = append(n.out, '\n')
	for range n.depth {
		n.out = append(n.out, ' ', ' ')
	}
}

// Close writes the buffered text. It does not close the underlying writer.
func (n *Indenter) Close() error {
	if len(n.out) == 0 {
		return nil
	}
	_, err := n.w.Write(n.out)
	n.out = n.out[:0]
	return err
}
