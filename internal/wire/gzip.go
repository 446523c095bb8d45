package wire

import (
	"bufio"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// compressFrom is the size in bytes above which kube-apiserver compresses a body (semantics 6.6).
const compressFrom = 128 << 10

// compressors are at level 1, kube-apiserver's.
var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic("BUG: gzip level 1 is refused: " + err.Error())
	}
	return w
}}

// AcceptsGzip tells whether an Accept-Encoding header offers gzip as kube-apiserver reads it: a quality with it does not count.
func AcceptsGzip(acceptEncoding string) bool {
	for part := range strings.SplitSeq(acceptEncoding, ",") {
		if strings.TrimSpace(part) == "gzip" {
			return true
		}
	}
	return false
}

// Compressor compresses a body if the client takes it and the body is large. It holds the first 128 KiB back until it knows.
type Compressor struct {
	w        io.Writer
	allowed  bool
	announce func()
	held     []byte
	gzip     *gzip.Writer
	out      *bufio.Writer // deflate writes a few hundred bytes at a time
}

// NewCompressor writes to w; announce is called before the first byte of a compressed body.
func NewCompressor(w io.Writer, acceptEncoding string, announce func()) *Compressor {
	return &Compressor{w: w, allowed: AcceptsGzip(acceptEncoding), announce: announce}
}

// Write implements io.Writer.
func (c *Compressor) Write(p []byte) (int, error) {
	switch {
	case !c.allowed:
		return c.w.Write(p)
	case c.gzip != nil:
		return c.gzip.Write(p)
	case len(c.held)+len(p) <= compressFrom:
		c.held = append(c.held, p...)
		return len(p), nil
	}
	c.announce()
	c.gzip = compressors.Get().(*gzip.Writer)
	c.out = bufio.NewWriterSize(c.w, pieceSize)
	c.gzip.Reset(c.out)
	if _, err := c.gzip.Write(c.held); err != nil {
		return 0, err
	}
	return c.gzip.Write(p)
}

// Close completes the body; it does not close the writer below.
func (c *Compressor) Close() error {
	if c.gzip == nil {
		if len(c.held) == 0 {
			return nil
		}
		_, err := c.w.Write(c.held)
		return err
	}
	err := c.gzip.Close()
	recycle(c.gzip)
	c.gzip = nil
	if err != nil {
		return err
	}
	return c.out.Flush()
}

// recycle makes a compressor available again, without what it wrote to.
func recycle(z *gzip.Writer) {
	z.Reset(io.Discard)
	compressors.Put(z)
}

// WriteMember writes p as one gzip member. A streaming list is a sequence of members, one each flush (semantics 6.6). The flush
// before the end keeps p out of the member's last block: Go's reader holds back what that block holds until it has seen the
// next member's head, which is sent with the next event.
func WriteMember(w io.Writer, p []byte) error {
	z := compressors.Get().(*gzip.Writer)
	defer recycle(z)
	z.Reset(w)
	if _, err := z.Write(p); err != nil {
		return err
	}
	if err := z.Flush(); err != nil {
		return err
	}
	return z.Close()
}
